import type { CatalogPlanReply } from '#contracts/catalog-revisions.js';
import { CatalogFileError } from '../file/catalog-file-error.js';
import type { PrivateUpstreams } from '../file/check-consistency.js';
import { parseCatalogFile, type WantedCatalog } from '../file/parse-catalog-file.js';
import type { Variables } from '../file/substitute.js';
import type { CatalogStore } from './catalog-store.js';
import { comparePrices } from './compare-prices.js';
import { describeDifferences } from './describe-changes.js';
import { isEmpty, planChanges } from './plan-changes.js';

const FAULTS_MAX = 100;

interface PlanOptions {
  /** Only these may have `allowPrivateNetwork`. */
  privateUpstreams?: PrivateUpstreams | undefined;
  withPrices?: boolean | undefined;
}

/** Compares a text with the stored catalog. Changes nothing. */
export async function planCatalog(
  store: Pick<CatalogStore, 'read'>,
  text: string,
  variables: Variables,
  { privateUpstreams, withPrices }: PlanOptions = {},
): Promise<CatalogPlanReply> {
  const current = await store.read();
  const { revision } = current;
  const wanted = parse(text, variables, privateUpstreams);
  if (wanted instanceof CatalogFileError) return { revision, faults: renderFaults(wanted), changes: null };
  const changes = planChanges(current, wanted, Math.floor(Date.now() / 1000));
  const prices = withPrices ? comparePrices(current, wanted) : undefined;
  return { revision, faults: [], changes: isEmpty(changes) ? null : describeDifferences(current, changes), ...(prices && { prices }) };
}

function parse(text: string, variables: Variables, privateUpstreams?: PrivateUpstreams): WantedCatalog | CatalogFileError {
  try {
    return parseCatalogFile(text, 'catalog.yaml', variables, privateUpstreams);
  } catch (error) {
    if (error instanceof CatalogFileError) return error;
    throw error;
  }
}

function renderFaults({ faults }: CatalogFileError): CatalogPlanReply['faults'] {
  return [...faults]
    .sort((one, other) => one.line - other.line)
    .slice(0, FAULTS_MAX)
    .map(({ line, path, problem }) => ({ line, field: path, problem }));
}
