"""The one writer of wanted state, operations, and a reconcile loop per fabric."""
