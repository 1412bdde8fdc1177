BEGIN TRANSACTION;
CREATE TABLE action (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, at_s REAL, what TEXT, cause TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER, note TEXT);
INSERT INTO "action" VALUES(1,'CXL',1760000000.0,'bind','command','cxl1','1',1,'D1',2,NULL);
INSERT INTO "action" VALUES(2,'CXL',1760000000.0,'unbind','command','cxl1','1',1,'D1',2,NULL);
INSERT INTO "action" VALUES(3,'CXL',1760000000.0,'bind','command','cxl1','2',0,'D2',NULL,NULL);
INSERT INTO "action" VALUES(4,'CXL',1760000000.0,'bind','command','cxl1','1',0,'D1',0,NULL);
INSERT INTO "action" VALUES(5,'CXL',1760000000.0,'port','outside','cxl1',NULL,NULL,'D1',NULL,'health=Warning, width=4');
CREATE TABLE base (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
INSERT INTO "base" VALUES('CXL','cxl1','2',1,'D1',3);
CREATE TABLE binding (
  fabric TEXT, switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER,
  PRIMARY KEY (fabric, switch, vcs, vppb));
INSERT INTO "binding" VALUES('CXL','cxl1','2',0,'D2',NULL);
INSERT INTO "binding" VALUES('CXL','cxl1','1',0,'D1',0);
INSERT INTO "binding" VALUES('CXL','cxl1','2',1,'D1',3);
CREATE TABLE late (
  n INTEGER PRIMARY KEY AUTOINCREMENT, fabric TEXT, due_s REAL, what TEXT,
  switch TEXT, vcs TEXT, vppb INTEGER, port TEXT, ld INTEGER);
INSERT INTO "late" VALUES(1,'CXL',1760000001.5,'bind','cxl1','1',1,'D1',1);
CREATE TABLE port (
  fabric TEXT, switch TEXT, port TEXT,
  link_up INTEGER, present INTEGER, health TEXT, width INTEGER,
  PRIMARY KEY (fabric, switch, port));
INSERT INTO "port" VALUES('CXL','cxl1','D1',1,1,'Warning',4);
CREATE TABLE vcs (
  fabric TEXT, switch TEXT, vcs TEXT, host TEXT, PRIMARY KEY (fabric, switch, vcs));
INSERT INTO "vcs" VALUES('CXL','cxl1','1','host1');
INSERT INTO "vcs" VALUES('CXL','cxl1','2','host2');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('action',5);
INSERT INTO "sqlite_sequence" VALUES('late',1);
COMMIT;
PRAGMA user_version = 1;
