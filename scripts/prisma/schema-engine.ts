#!/usr/bin/env node
/**
 * Replaces Prisma's native `schema-engine`, which Prisma would download at run time, by its WASM engine over adapter-pg. Speaks the same
 * protocol: JSON-RPC on standard input and output, and `cli <command>`. PostgreSQL only. `prisma.config.ts` sets it as
 * `PRISMA_SCHEMA_ENGINE_BINARY`.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SqlDriverAdapter, SqlQuery } from '@prisma/driver-adapter-utils';
import type pg from 'pg';

const require = createRequire(import.meta.url);
const ENGINE_FOLDER = dirname(require.resolve('@prisma/schema-engine-wasm'));
/** Error code of Prisma's CLI by SQLSTATE. Any other error: the server cannot be reached. */
const CLI_ERROR_CODES: Record<string, string> = { '3D000': 'P1003', '42P04': 'P1009', '28P01': 'P1000', 28000: 'P1010' };
const RPC_SERVER_ERROR = 4466;

const args = process.argv.slice(2);
if (args.includes('--version') || args.includes('-V')) printVersion();
else if (args.includes('cli')) await runCommand(args[args.indexOf('cli') + 1]);
else await serveRpc();

function printVersion(): void {
  const { version } = JSON.parse(readFileSync(join(ENGINE_FOLDER, 'package.json'), 'utf8'));
  console.log(`schema-engine-wasm ${version}`);
}

/** `can-connect-to-database`, `create-database`, `drop-database`. */
async function runCommand(command: string | undefined): Promise<void> {
  const { url } = datasource();
  const server = new URL(url);
  server.pathname = '/postgres';
  server.search = '';
  const database = quote(decodeURIComponent(new URL(url).pathname.slice(1)));
  try {
    if (command === 'can-connect-to-database') await runSql(url, 'SELECT 1');
    else if (command === 'create-database') await runSql(server.href, `CREATE DATABASE ${database}`);
    else if (command === 'drop-database') await runSql(server.href, `DROP DATABASE ${database} WITH (FORCE)`);
    else throw new Error(`unknown command: ${command}`);
  } catch (thrown) {
    const error = thrown as { message: string; code?: string };
    const code = CLI_ERROR_CODES[error.code ?? ''];
    const message = code ? error.message : `Can't reach database server at \`${server.host}\` (${error.code ?? error.message})`;
    process.stderr.write('\n'); // the CLI skips the first line
    logError(message, code ?? 'P1001');
    process.exitCode = 1;
  }
}

/** Answers requests in order until standard input ends. */
async function serveRpc(): Promise<void> {
  const createEngine = await loadEngine();
  const models: Models = optionValues('--datamodels').map((file) => [file, readFileSync(file, 'utf8')]);
  let engine: Engine | undefined;
  const answer = async ({ id, method, params }: { id: number; method: string; params: unknown }): Promise<void> => {
    try {
      engine ??= await createEngine(models.length > 0 ? models : undefined);
      const result = await engine[method === 'getDatabaseVersion' ? 'version' : method]?.(params);
      if (method === 'diff' && result?.stdout) send({ id: -id, method: 'print', params: { content: result.stdout } });
      send({ id, result: result ?? {} });
    } catch (thrown) {
      const error = thrown as { message?: string; meta?: unknown; code?: string } | undefined;
      const message = String(error?.message ?? error);
      const data = { is_panic: false, message, meta: error?.meta ?? null, error_code: error?.code ?? null };
      send({ id, error: { code: RPC_SERVER_ERROR, message, data } });
    }
  };
  let queue = Promise.resolve();
  createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
    .on('line', (line) => {
      const request = JSON.parse(line);
      if (request.method) queue = queue.then(() => answer(request));
    })
    .on('close', () => queue.then(() => process.exit(0)));
}

type Models = [file: string, text: string][];
/** The engine, with a function for each method of the protocol. */
type Engine = Record<string, (params: unknown) => Promise<{ stdout?: string } | undefined>>;

async function loadEngine(): Promise<(models: Models | undefined) => Promise<Engine>> {
  const panic = { message: '' };
  const registry = {
    set_message: (message: string) => {
      panic.message = message;
    },
  };
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: registry });
  process.on('uncaughtException', (error) => {
    logError(panic.message || String(error?.stack ?? error));
    process.exit(101);
  });
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const module = readFileSync(join(ENGINE_FOLDER, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(module, { './schema_engine_bg.js': bindings });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  const { bindMigrationAwareSqlAdapterFactory } = await import('@prisma/driver-adapter-utils');
  const adapter = bindMigrationAwareSqlAdapterFactory({
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => connect(datasource().url),
    connectToShadowDb,
  });
  return async (datamodels) => (await bindings.SchemaEngine.new({ datamodels }, () => {}, adapter)) as unknown as Engine;
}

/** The types of Node lack it. */
declare const WebAssembly: { instantiate(code: Buffer, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }> };

/** A connection of adapter-pg, with the members that it keeps to itself. */
interface Connection extends SqlDriverAdapter {
  client: pg.Client;
  onError(error: unknown): never;
  performIO(query: SqlQuery): Promise<pg.QueryResult>;
  readsOneByteChars?: boolean;
}

async function connect(connectionString: string): Promise<Connection> {
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const schema = new URL(connectionString).searchParams.get('schema') ?? 'public';
  const connection = (await new PrismaPg({ connectionString, max: 1 }, { schema }).connect()) as unknown as Connection;
  await readOneByteChars(connection);
  // adapter-pg splits a script at every `;`, also inside functions. The server accepts the whole script.
  connection.executeScript = async function executeScript(this: Connection, script) {
    try {
      await this.client.query(script);
    } catch (error) {
      this.onError(error);
    }
  };
  return connection;
}

/** Adds the one-byte `"char"` type of pg_catalog to adapter-pg, which refuses it but the engine needs it. */
async function readOneByteChars(connection: Connection): Promise<void> {
  const CHAR_OID = 18;
  const BPCHAR_OID = 1042;
  const { ColumnTypeEnum } = await import('@prisma/driver-adapter-utils');
  const queryable: Connection = Object.getPrototypeOf(Object.getPrototypeOf(connection));
  if (queryable.readsOneByteChars) return;
  queryable.readsOneByteChars = true;
  const { performIO, queryRaw } = queryable;
  queryable.queryRaw = async function queryRawWithChars(this: Connection, query) {
    const charColumns: number[] = [];
    const performIOWithChars = async (statement: SqlQuery): Promise<pg.QueryResult> => {
      const result = await performIO.call(this, statement);
      result.fields.forEach((field, column) => {
        if (field.dataTypeID !== CHAR_OID) return;
        field.dataTypeID = BPCHAR_OID;
        charColumns.push(column);
      });
      return result;
    };
    const result = await queryRaw.call(Object.create(this, { performIO: { value: performIOWithChars } }), query);
    for (const column of charColumns) result.columnTypes[column] = ColumnTypeEnum.Character;
    return result;
  };
}

/** A scratch database for `migrate dev` and `diff`, dropped with its connection. */
async function connectToShadowDb(): Promise<Connection> {
  const { url, shadowDatabaseUrl } = datasource();
  if (shadowDatabaseUrl) return connect(shadowDatabaseUrl);
  const main = await connect(url);
  const name = `prisma_migrate_shadow_db_${crypto.randomUUID()}`;
  await main.executeScript(`CREATE DATABASE ${quote(name)}`);
  const shadowUrl = new URL(url);
  shadowUrl.pathname = `/${name}`;
  const shadow = await connect(shadowUrl.href);
  const dispose = shadow.dispose.bind(shadow);
  shadow.dispose = async () => {
    await dispose();
    await main.executeScript(`DROP DATABASE IF EXISTS ${quote(name)} WITH (FORCE)`);
    await main.dispose();
  };
  return shadow;
}

async function runSql(connectionString: string, sql: string): Promise<void> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function datasource(): { url: string; shadowDatabaseUrl?: string } {
  return JSON.parse(optionValues('--datasource')[0] ?? '{}');
}

function optionValues(name: string): string[] {
  return args.flatMap((argument, position) => (argument === name ? (args[position + 1] ?? []) : []));
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function logError(message: string, errorCode?: string): void {
  const entry = {
    timestamp: new Date().toISOString(),
    level: 'ERROR',
    target: 'schema_engine::logger',
    fields: { message, error_code: errorCode },
  };
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}
