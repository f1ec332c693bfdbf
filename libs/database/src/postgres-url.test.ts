import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '#config/load-config.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { IsPostgresUrl, postgresCertificates, serverUrls } from './postgres-url.js';

test.each([
  ['postgres://u:p@one/db', ['postgres://u:p@one/db']],
  ['postgres:///db?host=/run/postgresql', ['postgres:///db?host=/run/postgresql']],
  ['postgresql://u:p@one:5432,[::1]:5433/db?a=b', ['postgresql://u:p@one:5432/db?a=b', 'postgresql://u:p@[::1]:5433/db?a=b']],
  ['postgres://u:p,@w@one,two/db', ['postgres://u:p,@w@one/db', 'postgres://u:p,@w@two/db']],
  ['postgres://one/db?sslmode=disable', ['postgres://one/db?sslmode=disable']],
  ['postgres://one/db?sslmode=require', ['postgres://one/db?sslmode=require&uselibpqcompat=true']],
  ['postgres://one/db?sslmode=verify-full&sslrootcert=system', ['postgres://one/db?sslmode=verify-full&uselibpqcompat=true']],
])('a URL for each host of %s', (url, urls) => {
  expect(serverUrls(url)).toEqual(urls);
});

test.each([
  ['postgres://one,two/db?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem', ['/etc/ca.pem']],
  ['postgres://one/db?sslmode=verify-full&sslrootcert=system', []],
  ['postgres://one/db', []],
])('the files with certificates of %s', (url, files) => {
  expect(postgresCertificates(url).map(({ name }) => name)).toEqual(files);
});

class Config {
  @IsPostgresUrl() databaseUrl = '';
}

describe('as a setting', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-url-'));
    writeFileSync(join(folder, 'ca.pem'), new TestAuthority().cert);
    writeFileSync(join(folder, 'empty.pem'), '');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const MODES = 'sslmode must be one of disable, prefer, require, verify-ca, verify-full';
  const NO_FILE = 'sslrootcert must be a readable file with certificates';

  test.each([
    ['', 'must be a postgres:// URL'],
    ['mysql://one/db', 'must be a postgres:// URL'],
    ['postgres://one/db?sslmode=secure', MODES],
    ['postgres://one/db?sslmode=verify-ca', 'sslmode=verify-ca needs sslrootcert, the file of the certificate authority'],
    ['postgres://one/db?sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
    ['postgres://one/db?sslmode=verify-full&sslrootcert=FOLDER/none.pem', NO_FILE],
    ['postgres://one/db?sslmode=verify-full&sslrootcert=FOLDER/empty.pem', NO_FILE],
  ])('%s is refused in one line', (url, fault) => {
    const load = (): Config => loadConfig(Config, { DATABASE_URL: url.replace('FOLDER', folder) });
    expect(load).toThrow(expect.objectContaining({ name: 'ConfigError', message: `DATABASE_URL: ${fault}` }));
  });

  test.each(['postgres://one,two/db', 'postgres://one/db?sslmode=verify-ca&sslrootcert=FOLDER/ca.pem'])('%s is accepted', (text) => {
    const url = text.replace('FOLDER', folder);
    expect(loadConfig(Config, { DATABASE_URL: url })).toEqual({ databaseUrl: url });
  });
});
