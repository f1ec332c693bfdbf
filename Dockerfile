# One image for every service: node dist/apps/<app>/src/main.js
# It also runs migrations: node scripts/prisma/migrate-deploy.ts

FROM node:24.21.0-trixie-slim AS base
# The first process of a container: Node, which handles no signal in its first tenth of a second, would miss an early one.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*

# Runs once for all architectures: what it makes has no machine code.
FROM --platform=$BUILDPLATFORM node:24.21.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --workspaces=false
COPY .swcrc LICENSE prisma.config.ts ./
COPY config config
COPY prisma prisma
COPY scripts scripts
COPY libs libs
COPY apps apps
# The packages of the base, which the list of packages names too.
COPY --from=base /usr/lib/os-release /base/etc/os-release
COPY --from=base /var/lib/dpkg/status /base/var/lib/dpkg/status
# The commit that --version and the metrics show: --build-arg TOLLGATE_COMMIT=$(git rev-parse --short=12 HEAD)
ARG TOLLGATE_COMMIT=
# Lists the files of the image: scripts/image/image-files.ts.
RUN npm run build && node scripts/image.ts --debian /base /image

FROM base
# The image runs Node and nothing that installs packages.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn*
ARG TOLLGATE_COMMIT=
LABEL org.opencontainers.image.title="Tollgate" \
      org.opencontainers.image.description="A language-model gateway that bills exactly" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$TOLLGATE_COMMIT"
ENV NODE_ENV=production
WORKDIR /app
# /app, and the command line `tollgate`.
COPY --from=build /image/ /
# User `node` by number, so that a cluster can verify that it is not root. Services write nothing to disk.
USER 1000:1000
EXPOSE 8080 9090
ENTRYPOINT ["tini", "--"]
CMD ["node", "--enable-source-maps", "dist/apps/gateway/src/main.js"]
