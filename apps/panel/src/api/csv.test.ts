import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { type Columns, nameFile, sendCsv } from './csv.js';

interface Row {
  name: string | null;
  amount: string;
}

const COLUMNS: Columns<Row> = { name: ({ name }) => name, amount: ({ amount }) => amount };

async function download(pages: AsyncIterable<readonly Row[]>): Promise<{ status: number; type: string | null; text: string | null }> {
  const app = express();
  app.get('/', (_request, response) => {
    sendCsv(response, 'rows.csv', COLUMNS, pages).catch(() => (response.headersSent ? response.destroy() : response.sendStatus(503)));
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const text = await response.text().catch(() => null);
    return { status: response.status, type: response.headers.get('content-type'), text };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function* makePages(...pages: (Row[] | Error)[]): AsyncGenerator<readonly Row[]> {
  for (const page of pages) {
    if (page instanceof Error) throw page;
    yield page;
  }
}

test('rows of all pages follow one head', async () => {
  const pages = makePages([{ name: 'a', amount: '1' }], [], [{ name: null, amount: '-2.50' }]);
  expect(await download(pages)).toEqual({ status: 200, type: 'text/csv; charset=utf-8', text: 'name,amount\r\na,1\r\n,-2.50\r\n' });
});

test('names of customers are written so that a spreadsheet reads a text', async () => {
  expect((await download(makePages([{ name: 'x;=1', amount: '-1.5' }]))).text).toBe(`name,amount\r\n"x;'=1",-1.5\r\n`);
});

test('a failure of the first page has its own status', async () => {
  expect((await download(makePages(new Error('away')))).status).toBe(503);
});

test('a failure of a later page breaks the connection', async () => {
  expect((await download(makePages([{ name: 'a', amount: '1' }], new Error('away')))).text).toBeNull();
});

test('a client that leaves while the first page is read is no failure of the panel [sec-client-abort]', async () => {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* slow(): AsyncGenerator<readonly Row[]> {
    asked.resolve();
    await left.promise;
    yield [{ name: 'a', amount: '1' }];
  }
  const app = express();
  const sent = Promise.withResolvers<void>();
  app.get('/', (_request, response) => {
    response.once('close', left.resolve);
    sent.resolve(sendCsv(response, 'rows.csv', COLUMNS, slow()));
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();
  client.on('error', () => undefined);
  await asked.promise;
  client.destroy();
  await expect(sent.promise).rejects.toMatchObject({ name: 'ClientLeftError' });
  server.close();
});

test('reads no further than the client does, and stops when the client leaves', async () => {
  let read = 0;
  const left = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<readonly Row[]> {
    try {
      for (;;) {
        read++;
        yield Array.from({ length: 1_000 }, () => ({ name: 'x'.repeat(100), amount: '1' }));
      }
    } finally {
      left.resolve();
    }
  }
  const app = express();
  const sent = Promise.withResolvers<void>();
  app.get('/', (_request, response) => sent.resolve(sendCsv(response, 'rows.csv', COLUMNS, endless())));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();
  const [response] = await once(client, 'response');
  await once(response, 'readable');
  client.destroy();
  client.on('error', () => undefined);
  await left.promise;
  await sent.promise;
  // Buffers of the two sockets hold a few megabytes at most.
  expect(read).toBeLessThan(200);
  server.close();
});

test.each<[name: string, account: string | undefined, from: string | undefined, to: string]>([
  ['usage-acme-2026-11-01-2026-11-30.csv', 'acme', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
  ['usage-acme-2026-11-01.csv', 'acme', '2026-11-01T09:00:00Z', '2026-11-01T10:00:00Z'],
  ['usage-cafe-sons-2026-11-01.csv', '/Café "& Sons\r\n', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'],
  ['usage-account-2026-11-01.csv', '東京', undefined, '2026-11-02T00:00:00Z'],
  ['usage-all-2026-11-01.csv', undefined, '2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z'],
])('the file %s has its account and days', (name, account, from, to) => {
  expect(nameFile('usage', account, { from, to })).toBe(name);
});
