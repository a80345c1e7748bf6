# One image with bin/worker and bin/mneme; it runs the worker.

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/mneme/mneme/internal/cli/app.version=$VERSION" -o /out/mneme ./starter && \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/worker ./worker

FROM alpine:3.22
RUN apk add --no-cache ca-certificates tzdata && adduser -D -u 10001 mneme
COPY --from=build /out/ /usr/local/bin/
USER mneme
ENV MNEME_HEALTH_ADDR=0.0.0.0:19233
EXPOSE 19233
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD wget -q -O /dev/null http://127.0.0.1:19233/readyz
CMD ["worker"]
