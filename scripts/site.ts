/** `npm run site`: builds the documentation as a site of files in .local/site/build. `--serve` then serves it on 127.0.0.1. */
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { StartError } from './local/project.mjs';
import { buildSite } from './site/build-site.ts';
import { serveFolder } from './site/serve-folder.ts';

const HELP = `npm run site [-- --serve [--port <port>]]

Builds the documentation as a site of files in .local/site/build, and serves it with --serve.

SITE_BASE        path below which the site is served, such as /tollgate/ (default: /)
SITE_REPOSITORY  address of the repository's files, such as https://forge.example.com/us/tollgate/blob/main;
                 without it links to files outside the documentation are shown as text
SITE_VERSIONS    addresses of the sites of other versions, separated by spaces, for the menu of versions:
                 https://docs.example.com/v1.0.0/ is listed as v1.0.0
`;
const { values } = parseArgs({
  options: { serve: { type: 'boolean' }, port: { type: 'string', default: '4173' }, help: { type: 'boolean', short: 'h' } },
});
try {
  if (values.help) process.stdout.write(HELP);
  else await main();
} catch (error) {
  process.stderr.write(`${error instanceof StartError ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { SITE_BASE: base = '/', SITE_REPOSITORY: repository } = process.env;
  if (!/^\/(.*\/)?$/.test(base)) throw new StartError(`SITE_BASE begins and ends with a slash: ${base}`);
  const folder = await buildSite({ base, repository: repository?.replace(/\/$/, '') });
  console.log(`built ${folder}`);
  if (!values.serve) return;
  const server = await serveFolder(folder, { base, port: Number(values.port) });
  console.log(`serving http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`);
}
