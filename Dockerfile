# docker build -t frontdesk . && docker run --env-file .env -v frontdesk:/data -p 3000:3000 frontdesk
# Documents: mount them and name the folder, as in -v "$PWD/help:/kb:ro" -e KB_PATH=/kb

FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /venv
# For Postgres and several processes (docs/guides/fleet.md), and for traces (docs/guides/traces.md):
# docker build --build-arg LOCK=requirements-fleet.lock
ARG LOCK=requirements.lock
COPY requirements.lock requirements-fleet.lock ./
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r $LOCK
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY handlers handlers
COPY knowledge knowledge
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation .

FROM python:3.12-slim
RUN useradd --system --uid 10001 frontdesk && install -d -o frontdesk /data
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 HOST=0.0.0.0 DATA_DIR=/data
USER frontdesk
WORKDIR /data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --start-period=120s --interval=30s --timeout=5s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\") or 3000}/livez', timeout=4)"]
# Running answers get 20 s to finish after SIGTERM; `docker stop` alone waits only 10: use `docker stop --time 30`.
STOPSIGNAL SIGTERM
ENTRYPOINT ["frontdesk"]
CMD ["serve"]
