import { type ServiceUse, serviceList } from '#contracts/billing/services.js';
import { modelList, type OfferedService, type ServiceItem } from '#contracts/catalog.js';
import type { CliCommand } from '../command.js';
import { renderDollars, renderTable } from '../render.js';

/** Both the catalog and billing answer, so that it is no `command` of one endpoint. */
export const serviceCommands: readonly CliCommand[] = [
  {
    name: 'services',
    summary: 'List the internal services with their ceilings and what is used of them, and their items with prices',
    parameters: {},
    examples: ['services', 'services --json'],
    async run(_values, json, connect) {
      const messaging = await connect();
      const [{ services: offered = [] }, { services: used }] = await Promise.all([
        messaging.request(modelList, {}),
        messaging.request(serviceList, {}),
      ]);
      const services = joinUse(offered, used);
      const text = json ? JSON.stringify({ services }, null, 2) : renderServices(services);
      return { text, failed: false };
    },
  },
];

interface UsedService extends OfferedService {
  /** Null: it has reserved nothing yet. */
  use: Omit<ServiceUse, 'service'> | null;
}

/** A service that the catalog no longer has, and which still holds money, has no items. */
function joinUse(offered: readonly OfferedService[], used: readonly ServiceUse[]): UsedService[] {
  const uses = new Map(used.map(({ service, ...use }) => [service, use]));
  const gone = used.filter(({ service, openHolds }) => openHolds > 0 && !offered.some(({ id }) => id === service));
  const withoutItems = { holdMaxPicoUsd: null, dayMaxPicoUsd: null, openHoldsMax: null, items: [] };
  return [...offered, ...gone.map(({ service: id }) => ({ id, ...withoutItems }))].map((service) => ({
    ...service,
    use: uses.get(service.id) ?? null,
  }));
}

function renderServices(services: readonly UsedService[]): string {
  const items = services.flatMap((service) => service.items);
  const table = renderTable(services, 'no services', {
    SERVICE: ({ id }) => id,
    'SPENT TODAY': ({ use }) => renderDollars(use?.spentPicoUsd ?? '0'),
    HELD: ({ use }) => renderDollars(use?.heldPicoUsd ?? '0'),
    'MOST A DAY': ({ dayMaxPicoUsd }) => dayMaxPicoUsd && renderDollars(dayMaxPicoUsd),
    'MOST A HOLD': ({ holdMaxPicoUsd }) => holdMaxPicoUsd && renderDollars(holdMaxPicoUsd),
    OPEN: ({ use }) => use?.openHolds ?? 0,
    'MOST OPEN': ({ openHoldsMax }) => openHoldsMax,
  });
  if (items.length === 0) return table;
  const ofItems = renderTable<ServiceItem>(items, '', {
    ITEM: ({ id }) => id,
    NAME: ({ displayName }) => displayName,
    UNIT: ({ unit }) => unit,
    'PRICE A UNIT': ({ price }) => renderDollars(price.requestPicoUsd ?? '0'),
    VERSION: ({ price }) => price.version,
  });
  return `${table}\n\n${ofItems}`;
}
