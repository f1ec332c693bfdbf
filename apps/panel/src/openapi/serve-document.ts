import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { requireAbove } from '#config/find-above.js';

/** Returns the handler of `/panel/openapi.json`, which is public: the document is read once. */
export function serveDocument(): RequestHandler {
  const text = readFileSync(requireAbove('apps/panel/openapi.json'));
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return (request, response) => {
    // Clients revalidate each time; an unchanged document is a 304.
    response.set({ etag, 'cache-control': 'no-cache', 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
    if (request.get('if-none-match') === etag) response.status(304).end();
    else response.end(text);
  };
}
