import { useMemo } from 'react';
import type { AuditEntry } from '../../../../src/shapes/audit.js';
import type { MemberListReply } from '../../../../src/shapes/identity.js';
import { useApi, withQuery } from '../../data/api.js';
import { writeFilters } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { useZone } from '../../data/time-zone.js';
import { exactUsd } from '../../format/numbers.js';
import { formatTime } from '../../parts/time.js';

type Option = [value: string, text: string];

/** A thing of the journals: `key`, and its id. */
export interface Thing {
  kind: string;
  id: string;
}

/** Names and addresses of what the journals name, as far as the page knows them. */
export function useAuditWords() {
  const { account, accounts, linkTo, may } = useSession();
  const accountId = account === 'all' ? undefined : account;
  const { projects, keys, playgroundKeys } = useNames();
  const zone = useZone();
  const people = useApi<MemberListReply>(may('members.read') ? withQuery('/members', { accountId, limit: 200 }) : null);
  return useMemo(() => {
    const options = {
      account: accounts.map(({ accountId: id, name }): Option => [id, name]),
      project: (projects ?? []).map(({ projectId, name }): Option => [projectId, name]),
      key: (keys ?? []).map(({ keyId, name, lastFour }): Option => [keyId, name ?? `…${lastFour}`]),
      user: (people.data?.members ?? []).map(({ userId, email }): Option => [userId, email]),
    };
    const ofPlayground = (playgroundKeys ?? []).map(({ keyId }): Option => [keyId, 'of the playground']);
    const names = new Map(
      Object.entries({ ...options, key: [...options.key, ...ofPlayground] }).flatMap(([kind, rows]) =>
        rows.map(([id, name]) => [`${kind}/${id}`, name] as const),
      ),
    );
    const name = (kind: string, id: string): string | undefined => names.get(`${kind}/${id}`);
    return {
      words: { name, usd: exactUsd, time: (at: string) => formatTime(at, 'both', zone) },
      /** The people and things that filters offer. */
      options,
      /** Returns the name of the person or program that made a change. */
      actorName: ({ actor, actorName }: Pick<AuditEntry, 'actor' | 'actorName'>): string => {
        const { kind, id } = parseThing(actor);
        return actorName ?? name(kind, id) ?? actor;
      },
      /** Returns the page of a thing. Undefined: it has none, or its account is not known. */
      href: ({ kind, id }: Thing, of: string | null): string | undefined => {
        if (kind === 'account') return linkTo('overview', id);
        if (kind === 'user') return linkTo('members');
        const owner = of ?? accountId;
        if (owner === undefined) return undefined;
        if (kind === 'project') return linkTo(`projects/${id}`, owner);
        return kind === 'key' ? linkTo('keys', owner) + writeFilters({ key: id }) : undefined;
      },
    };
  }, [accounts, accountId, keys, linkTo, people.data, playgroundKeys, projects, zone]);
}

export type AuditNames = ReturnType<typeof useAuditWords>;

/** Reads `key/<id>`. */
export function parseThing(text: string): Thing {
  const [kind = '', ...id] = text.split('/');
  return { kind, id: id.join('/') };
}
