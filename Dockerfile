# The service in a container: docker build -t discreet . && docker run -p 8000:8000 -v discreet:/data discreet
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/discreet \
    && /opt/discreet/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[service,postgres]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin discreet \
    && install -d -o discreet -g discreet -m 0700 /data
COPY --from=build /opt/discreet /opt/discreet
ENV PATH=/opt/discreet/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba
USER discreet
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
ENTRYPOINT ["discreet", "serve", "--folder", "/data", "--host", "0.0.0.0"]
