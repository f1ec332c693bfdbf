import { readFile } from 'node:fs/promises';
import { catalogApply, modelList } from '#contracts/catalog.js';
import { command } from '../command.js';
import { argument, text } from '../parameters.js';
import { renderPerMillion, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';
import { renderApplied } from './catalog-apply-report.js';

/** Same limit as in the catalog service. */
const CATALOG_LENGTH_MAX = 1_000_000;

export const catalogCommands = [
  command({
    name: 'catalog apply',
    summary: 'Replace the catalog by a YAML file; entries missing in the file are disabled',
    parameters: { file: argument(text(500, 'file'), 'such as config/catalog.yaml') },
    examples: ['catalog apply config/catalog.yaml'],
    endpoint: catalogApply,
    request: async ({ file }) => ({ yaml: await readCatalog(file), fileName: file }),
    render: renderApplied,
  }),
  command({
    name: 'models list',
    summary: 'List the available models, with prices in USD per million tokens',
    parameters: {},
    examples: ['models list'],
    endpoint: modelList,
    request: () => ({}),
    render: ({ models }) =>
      renderTable(
        models,
        {
          MODEL: (row) => row.id,
          NAME: (row) => row.displayName ?? null,
          'OWNED BY': (row) => row.ownedBy,
          CONTEXT: (row) => row.contextTokens,
          'MAX OUTPUT': (row) => row.maxOutputTokens,
          INPUT: (row) => row.input.join('+'),
          REASONING: (row) => row.reasoning,
          'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
          'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
          'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
          VERSION: (row) => row.price.version,
        },
        'no models',
      ),
  }),
];

async function readCatalog(file: string): Promise<string> {
  const yaml = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file}: ${error.code === 'ENOENT' ? 'no such file' : error.code}`);
  });
  if (yaml.length === 0 || yaml.length > CATALOG_LENGTH_MAX) {
    throw new UsageError(`${file} must have 1 to ${CATALOG_LENGTH_MAX} characters, it has ${yaml.length}`);
  }
  return yaml;
}
