import { useFilters } from '../../data/filters.js';
import { CompactSelect } from '../../parts/field.js';
import { RangePicker } from '../../parts/filter-bar.js';
import styles from '../../parts/filter-bar.module.css';
import { groupActions } from './action-groups.js';
import { type AuditNames, parseThing } from './use-audit-words.js';

const ACTIONS = groupActions();
const KINDS = { account: 'Accounts', project: 'Projects', key: 'Keys', user: 'People' } as const;
type Kind = keyof typeof KINDS;

/** Time, person, target and action of the entries. A value that is no choice comes from a link of the page. */
export function AuditFilters({ names, chosenActor }: { names: AuditNames; chosenActor: string }) {
  const { filters, change } = useFilters();
  const { actor = '', target = '', action = '' } = filters;
  const people = names.options.user.map(([id, email]) => [`user/${id}`, email] as const);
  const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => names.options[kind].length > 0);
  const groups = kinds.map((kind) => ({
    title: KINDS[kind],
    options: names.options[kind].map(([id, name]) => [`${kind}/${id}`, name] as const),
  }));
  const { kind, id } = parseThing(target);
  return (
    <search className={styles.bar}>
      <RangePicker names={['24h', '7d', '30d']} />
      <CompactSelect
        label="Who"
        all="Anyone"
        options={withChosen(people, actor, chosenActor)}
        value={actor}
        onChoose={(chosen) => change({ actor: chosen })}
      />
      <CompactSelect
        label="Target"
        all="All targets"
        options={groups.some(({ options }) => options.some(([value]) => value === target)) ? [] : withChosen([], target, shorten(kind, id))}
        groups={groups}
        value={target}
        onChoose={(chosen) => change({ target: chosen })}
      />
      <CompactSelect
        label="Action"
        all="All actions"
        options={ACTIONS.some(({ options }) => options.some(([value]) => value === action)) ? [] : withChosen([], action, action)}
        groups={ACTIONS}
        value={action}
        onChoose={(chosen) => change({ action: chosen })}
      />
    </search>
  );
}

function withChosen(options: readonly (readonly [string, string])[], chosen: string, text: string): (readonly [string, string])[] {
  return chosen === '' || options.some(([value]) => value === chosen) ? [...options] : [...options, [chosen, text]];
}

/** `budget …1b2c3d4e`. */
function shorten(kind: string, id: string): string {
  return id.length > 12 ? `${kind} …${id.slice(-8)}` : `${kind} ${id}`.trim();
}
