import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';

const DOCUMENT = 'apps/panel/openapi.json';

/** Returns the handler of `/panel/openapi.json`, which is public: the document is read once. */
export function serveDocument(): RequestHandler {
  const text = readFileSync(find());
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return (request, response) => {
    // Clients revalidate each time; an unchanged document is a 304.
    response.set({ etag, 'cache-control': 'no-cache', 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
    if (request.get('if-none-match') === etag) response.status(304).end();
    else response.end(text);
  };
}

/** Searches the parent folders, because sources and build output differ in depth. */
function find(): URL {
  for (let folder = new URL('./', import.meta.url); ; ) {
    const file = new URL(DOCUMENT, folder);
    if (existsSync(file)) return file;
    const above = new URL('../', folder);
    if (above.href === folder.href) throw new Error(`found no ${DOCUMENT} in the parent folders`);
    folder = above;
  }
}
