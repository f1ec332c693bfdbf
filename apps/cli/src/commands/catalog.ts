import { catalogApply, modelList } from '#contracts/catalog.js';
import { catalogGet, revisionList } from '#contracts/catalog-revisions.js';
import { REVISION_MAX } from '#contracts/revisions.js';
import { command } from '../command.js';
import { argument, cursor, optional, text, wholeNumber } from '../parameters.js';
import { readTextFile } from '../read-file.js';
import { morePages, renderPerMillion, renderTable } from '../render.js';
import { renderApplied, summarize } from './catalog-report.js';

/** Same limit as in the catalog service. */
const CATALOG_LENGTH_MAX = 1_000_000;

const revision = wholeNumber(1, REVISION_MAX);

export const catalogCommands = [
  command({
    name: 'catalog apply',
    summary: 'Replace the catalog by a YAML file; entries missing in the file are disabled',
    parameters: {
      file: argument(text(500, 'file'), 'such as config/catalog.yaml'),
      expectedRevision: optional(revision, 'refuse to change another revision than this one, which catalog plan shows'),
    },
    examples: ['catalog apply config/catalog.yaml', 'catalog apply config/catalog.yaml --expected-revision 13'],
    endpoint: catalogApply,
    request: async ({ file, expectedRevision }) => ({ yaml: await readCatalog(file), fileName: file, expectedRevision }),
    render: renderApplied,
  }),
  command({
    name: 'catalog show',
    summary: 'Print the YAML text of the current revision, or of an earlier one',
    parameters: { revision: optional(revision, 'revision of the list') },
    examples: ['catalog show > catalog.yaml', 'catalog show --revision 12'],
    endpoint: catalogGet,
    request: ({ revision }) => ({ revision }),
    render: ({ yaml, revision }) => yaml?.replace(/\n$/, '') ?? `the text of revision ${revision} was not stored`,
    isFailure: ({ yaml }) => yaml === null,
  }),
  command({
    name: 'catalog revisions',
    summary: 'List who changed the catalog and what, newest first',
    parameters: { limit: optional(wholeNumber(1, 200), 'revisions on a page; default 50'), cursor },
    examples: ['catalog revisions', 'catalog revisions --limit 5'],
    endpoint: revisionList,
    request: ({ limit, cursor }) => ({ limit, cursor }),
    render: ({ revisions, nextCursor }) =>
      renderTable(revisions, 'no revisions', {
        REVISION: (row) => row.revision,
        AT: (row) => row.at,
        ACTOR: (row) => row.actorName ?? row.actor,
        SOURCE: (row) => row.fileName ?? row.reason,
        CHANGES: (row) => row.changes && summarize(row.changes),
      }) + morePages(nextCursor),
  }),
  command({
    name: 'models list',
    summary: 'List the available models, with prices in USD per million tokens',
    parameters: {},
    examples: ['models list'],
    endpoint: modelList,
    request: () => ({}),
    render: ({ models }) =>
      renderTable(models, 'no models', {
        MODEL: (row) => row.id,
        NAME: (row) => row.displayName ?? null,
        'OWNED BY': (row) => row.ownedBy,
        CONTEXT: (row) => row.contextTokens,
        'MAX OUTPUT': (row) => (row.embeddingDimensions == null ? row.maxOutputTokens : `${row.embeddingDimensions} dimensions`),
        INPUT: (row) => row.input.join('+'),
        REASONING: (row) => row.reasoning,
        'IN $/M': (row) => renderPerMillion(row.price.inputPicoUsd),
        'CACHED $/M': (row) => renderPerMillion(row.price.cachedInputPicoUsd),
        'OUT $/M': (row) => renderPerMillion(row.price.outputPicoUsd),
        VERSION: (row) => row.price.version,
      }),
  }),
];

export function readCatalog(file: string): Promise<string> {
  return readTextFile(file, CATALOG_LENGTH_MAX);
}
