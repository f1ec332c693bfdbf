import { randomUUID } from 'node:crypto';
import type { NewTenantKey, TenantAccount, TenantChange, TenantFault, TenantKind } from '#contracts/billing/tenants.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { LimitDefaults } from '../limits/operator-limits.js';
import type { Mark } from '../managed/marks.js';
import type { TenantState } from './tenant-state.js';

/** Settings of billing that what is new gets. */
export interface TenantDefaults {
  maxima: { projectsMax: number; keysMax: number };
  limits: LimitDefaults;
  keyPepper: string;
}

/** The transaction of an apply, and what the operations of billing need in it. */
export interface Applying extends TenantDefaults {
  /** The operations that one transaction joins open no other. */
  joined: PrismaClient;
  author: Author;
  newKeys: readonly NewTenantKey[];
}

/** A difference, with the operations that end it. */
export interface TenantStep {
  change: TenantChange;
  run: (applying: Applying) => Promise<unknown>;
  /** Gateways keep keys with their project and the price plan of the account. Names the thing of which they must drop their copies. */
  stale?: Stale;
}

export type Stale = { projectId: string } | { keyId: string } | { accountId: string };

/** Fields and indices from the account on. */
export type Path = (string | number)[];
export type Place = Pick<TenantChange, 'project' | 'key' | 'name'>;

/** Collects how an account differs from its wanted state, resource by resource. */
export class Planning {
  readonly accountId: string;
  readonly steps: TenantStep[] = [];
  /** Steps that remove whatever the wanted state does not have, for a plan that prunes. */
  readonly removals: TenantStep[] = [];
  readonly faults: TenantFault[] = [];
  readonly notes: string[] = [];
  /** The things that the wanted state names. */
  readonly owned: (Mark & { isNew: boolean })[] = [];
  /** The last step, which has no change where it only marks what is new. */
  marking?: { change: TenantChange | undefined; run: TenantStep['run'] };

  constructor(
    readonly wanted: TenantAccount,
    readonly state: TenantState | undefined,
    readonly newKeys: readonly NewTenantKey[],
    /** Undefined: marks are not compared. */
    readonly source: string | undefined,
    readonly now: number,
  ) {
    this.accountId = state?.account.accountId ?? randomUUID();
  }

  create(kind: TenantKind, place: Place, fields: TenantChange['fields'], run: TenantStep['run']): void {
    this.steps.push({ change: { action: 'create', kind, ...place, fields }, run });
  }

  /** Adds a change, unless no field differs. */
  change(kind: TenantKind, place: Place, fields: TenantChange['fields'], run: TenantStep['run'], stale?: Stale): void {
    if (fields.length > 0) this.steps.push({ change: { action: 'change', kind, ...place, fields }, run, ...(stale && { stale }) });
  }

  /** Adds a removal that the wanted state names. */
  end(kind: TenantKind, place: Place, fields: TenantChange['fields'], run: TenantStep['run']): void {
    this.steps.push({ change: { action: 'remove', kind, ...place, fields }, run });
  }

  /** Adds the removal of something that the wanted state does not have. */
  remove(kind: TenantKind, place: Place, fields: TenantChange['fields'], run: TenantStep['run'], stale?: Stale): void {
    this.removals.push({ change: { action: 'remove', kind, ...place, fields }, run, ...(stale && { stale }) });
  }

  /** Names a thing that the file owns. Returns its mark: a step that makes the thing under another id sets that. */
  own(kind: Mark['kind'], id: string, stored: object | undefined): Mark {
    const mark = { kind, id, isNew: stored === undefined };
    this.owned.push(mark);
    return mark;
  }

  fault(path: Path, problem: string): void {
    this.faults.push({ path, problem });
  }

  /** Adds the refusal of a check as a fault. Returns false then. `names` has the field of the file for one of a request. */
  check(path: Path, check: () => void, names: Record<string, string> = {}): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { param = '', message } = error;
      const field = names[param] ?? param;
      this.fault(field === '' || path.at(-1) === field ? path : [...path, field], renameFields(message, names));
      return false;
    }
  }

  refuseTwice<Entry>(entries: readonly Entry[], path: Path, name: (entry: Entry) => string, field: string): void {
    const seen = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      if (seen.has(name(entry))) this.fault([...path, index, field], 'is there twice');
      seen.add(name(entry));
    }
  }
}

function renameFields(message: string, names: Record<string, string>): string {
  return Object.entries(names).reduce((text, [name, shown]) => text.replaceAll(name, shown), message);
}
