# Footnote with its embedding model, and Tesseract with Korean and Japanese: nothing is fetched at the first start.
# How to run it: docs/operator/container.md
ARG PYTHON=docker.io/library/python:3.13-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /src
COPY . .
# Chroma names kubernetes for its cluster, which is not run here: 126 MB.
RUN python3 -m venv /opt/footnote \
 && /opt/footnote/bin/pip install --no-cache-dir --constraint constraints.txt '.[gdrive,ja,ko,lance,objects,oidc,postgres]' \
 && /opt/footnote/bin/pip uninstall --yes kubernetes
RUN FOOTNOTE_MODEL_CACHE=/opt/models /opt/footnote/bin/footnote model fetch

FROM ${PYTHON}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      tesseract-ocr tesseract-ocr-osd tesseract-ocr-kor tesseract-ocr-jpn \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin footnote \
 && install -d /etc/footnote \
 && install -d -o footnote -g footnote -m 0700 /data /shared
COPY --from=build /opt/footnote /opt/footnote
COPY --from=build /opt/models /opt/models
ENV PATH=/opt/footnote/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    FOOTNOTE_DATA=/data \
    FOOTNOTE_MODEL_CACHE=/opt/models
# Streamlit's configuration and secrets, if any: /etc/footnote/.streamlit
WORKDIR /etc/footnote
USER 10001:10001
VOLUME /data
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python3", "-c", \
  "import urllib.request; urllib.request.urlopen('http://localhost:8501/healthz', timeout=4)"]
ENTRYPOINT ["footnote"]
CMD ["serve"]
