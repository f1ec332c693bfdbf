import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import express from 'express';
import request from 'supertest';
import { staticFiles } from './static-files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'panel-ui-'));
  mkdirSync(join(folder, 'assets'));
  const files = {
    'index.html': '<p>shell',
    'assets/main-1a2b.js': 'main()',
    'assets/main-1a2b.js.br': brotliCompressSync('compressed'),
    'notes.txt': 'not served',
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
});
afterEach(() => rmSync(folder, { recursive: true }));

const get = (path: string, encoding = 'identity') =>
  request(express().use('/panel', staticFiles(folder)))
    .get(`/panel${path}`)
    .set('accept-encoding', encoding)
    .buffer(true)
    .parse(text);
const text = (response: request.Response, done: (error: null, body: string) => void): void => {
  const stream = response as unknown as NodeJS.ReadableStream;
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => done(null, Buffer.concat(chunks).toString()));
};

test.each(['/', '/index.html', '/keys', '/requests/req_1', '/notes.txt', '/..%2f..%2fetc%2fpasswd'])(
  '%s gets the shell, always current',
  async (path) => {
    const { status, body, headers } = await get(path);
    expect([status, body, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      '<p>shell',
      'text/html; charset=utf-8',
      'no-cache',
    ]);
  },
);

test('a hashed file is kept for ever', async () => {
  const { body, headers } = await get('/assets/main-1a2b.js');
  expect(body).toBe('main()');
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
  });
});

test('a client that accepts it gets the compressed form of the build', async () => {
  const { body, headers } = await get('/assets/main-1a2b.js', 'gzip, br');
  expect([body, headers['content-encoding'], headers.vary]).toEqual(['compressed', 'br', 'accept-encoding']);
});

test('a hashed file of an older build is 404: the shell is no script', async () => {
  expect((await get('/assets/main-0000.js')).status).toBe(404);
});
