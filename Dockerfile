# Two stages: the first builds a wheel and installs it, the second carries only the result.
# Python as in the classifiers of pyproject.toml; the same image twice, for the environment made in
# the first stage names its interpreter by path.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY redfish_fm redfish_fm
COPY schemas schemas
COPY mockups mockups
# Without pip of its own: nothing is installed in the image that runs.
RUN python -m venv --without-pip /opt/redfish-fm \
    && pip --python /opt/redfish-fm/bin/python install --no-cache-dir .

FROM python:3.12-slim
LABEL org.opencontainers.image.title="redfish-fm" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --no-create-home --home-dir /var/lib/redfish-fm redfish-fm \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/redfish-fm
COPY --from=build /opt/redfish-fm /opt/redfish-fm
# TLS is on: plain HTTP is refused on any address but loopback.
ENV PATH=/opt/redfish-fm/bin:$PATH \
    HOME=/var/lib/redfish-fm \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    REDFISH_FM_HOST=0.0.0.0 \
    REDFISH_FM_PORT=8443 \
    REDFISH_FM_STATE=/var/lib/redfish-fm/state
USER 10001:10001
VOLUME /var/lib/redfish-fm
EXPOSE 8443
STOPSIGNAL SIGTERM
# The certificate may be the service's own: over loopback it is not verified.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, ssl, urllib.request as u; c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE; u.urlopen('https://127.0.0.1:' + os.environ['REDFISH_FM_PORT'] + '/healthz', timeout=2, context=c)"]
# The form without a shell: the service is process 1 and gets the signals itself.
ENTRYPOINT ["redfish-fm"]
CMD ["serve"]
