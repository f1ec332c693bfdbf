import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { npm } from '../local/dependencies.mjs';
import { NODE, ROOT } from '../local/project.mjs';
import { runCommand } from '../local/run-command.mjs';
import { natsTypes } from './nats-types.ts';

const PACKAGES = join(ROOT, 'packages');
const GENERATOR = join(PACKAGES, 'node_modules/openapi-typescript/bin/cli.js');
/** OpenAPI documents from which the types of a client are generated, by its folder in packages/. */
const DOCUMENTS = { client: 'docs/openapi.json', 'panel-client': 'apps/panel/openapi.json' };
const NATS_CLIENT = 'nats-client';

export const CLIENTS = [...Object.keys(DOCUMENTS), NATS_CLIENT];

/** Writes the npm packages of the clients into folders of `folder`, with the types of the documents of this version. */
export async function writeClientPackages(folder: string): Promise<void> {
  if (!existsSync(GENERATOR)) await npm(['ci', '--ignore-scripts', '--loglevel=error'], PACKAGES);
  for (const name of CLIENTS) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(PACKAGES, name), join(folder, name), { recursive: true });
    cpSync(join(ROOT, 'LICENSE'), join(folder, name, 'LICENSE'));
  }
  for (const [name, document] of Object.entries(DOCUMENTS)) await generateTypes(join(ROOT, document), join(folder, name));
  const { schemas, subjects } = natsTypes(parse(readFileSync(join(ROOT, 'docs/asyncapi.yaml'), 'utf8')));
  // The schemas of AsyncAPI are those of OpenAPI 3.1, so one generator makes the types of both.
  const document = join(folder, 'schemas.json');
  mkdirSync(folder, { recursive: true });
  writeFileSync(document, JSON.stringify({ openapi: '3.1.1', info: { title: 'NATS', version: '1' }, paths: {}, components: { schemas } }));
  await generateTypes(document, join(folder, NATS_CLIENT));
  rmSync(document);
  writeFileSync(join(folder, NATS_CLIENT, 'subjects.d.ts'), subjects);
}

async function generateTypes(document: string, folder: string): Promise<void> {
  const options = { cwd: PACKAGES, failure: 'openapi-typescript' };
  await runCommand(NODE, [GENERATOR, document, '--output', join(folder, 'schema.d.ts')], options);
}
