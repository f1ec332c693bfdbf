# One image for every service: node dist/apps/<app>/src/main.js
# It also runs migrations: node scripts/prisma/migrate-deploy.ts

FROM node:24.21.0-trixie-slim AS base
# The first process of a container: Node, which handles no signal in its first tenth of a second, would miss an early one.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*

FROM base AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --workspaces=false
COPY .swcrc prisma.config.ts ./
COPY prisma prisma
COPY scripts scripts
COPY libs libs
COPY apps apps
# The commit that --version and the metrics show: --build-arg TOLLGATE_COMMIT=$(git rev-parse --short=12 HEAD)
ARG TOLLGATE_COMMIT=
RUN npm run build && npm prune --workspaces=false --omit=dev --omit=peer --omit=optional
# The packages of the image, as CycloneDX: Node, those of npm, and Debian's in the base.
RUN node scripts/sbom.ts --debian / > sbom.cdx.json

FROM base
# The image runs Node and nothing that installs packages. `tollgate` is the command line.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
  && ln -s /app/dist/apps/cli/bundle/tollgate.cjs /usr/local/bin/tollgate
ARG TOLLGATE_COMMIT=
LABEL org.opencontainers.image.title="Tollgate" \
      org.opencontainers.image.description="A language-model gateway that bills exactly" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$TOLLGATE_COMMIT"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/sbom.cdx.json ./
COPY config config
COPY apps/panel/openapi.json apps/panel/
COPY prisma/migrations prisma/migrations
COPY scripts/prisma scripts/prisma
# User `node` by number, so that a cluster can verify that it is not root. Services write nothing to disk.
USER 1000:1000
EXPOSE 8080 9090
ENTRYPOINT ["tini", "--"]
CMD ["node", "--enable-source-maps", "dist/apps/gateway/src/main.js"]
