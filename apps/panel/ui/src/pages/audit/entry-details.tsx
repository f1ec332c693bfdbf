import { Link } from 'wouter';
import type { AuditEntry } from '../../../../src/shapes/audit.js';
import { useFilters } from '../../data/filters.js';
import { Dialog } from '../../parts/dialog.js';
import { Moment } from '../../parts/moment.js';
import { Fact } from '../../parts/page.js';
import styles from './audit.module.css';
import { formatValue, listChanges } from './changes.js';
import { Sentence } from './sentence.js';
import type { AuditNames } from './use-audit-words.js';

/** One entry with all that the journal has of it. */
export function EntryDetails({ entry, names, onClose }: { entry: AuditEntry; names: AuditNames; onClose: () => void }) {
  const { hrefWith } = useFilters();
  const facts: [name: string, value: string | null][] = [
    ['Action', entry.action],
    ['Actor', entry.actor],
    ['Through', entry.via],
    ['Address', entry.ip],
    ['Request id', entry.requestId],
    ['Target', entry.target],
    ['Reason', entry.reason],
  ];
  const changes = listChanges(entry);
  return (
    <Dialog title="Change" onClose={onClose}>
      <p className={styles.sentence}>
        {names.actorName(entry)} <Sentence entry={entry} names={names} />
      </p>
      <dl className={styles.facts}>
        <Fact name="Time">
          <Moment at={entry.at} named />
        </Fact>
        {facts.map(
          ([name, value]) =>
            value && (
              <Fact key={name} name={name}>
                {value}
              </Fact>
            ),
        )}
      </dl>
      <Link to={hrefWith({ target: entry.target })} onClick={onClose}>
        All changes of this target
      </Link>
      {changes.length > 0 && (
        <table className={styles.changes}>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ field, before, after }) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>{formatValue(before)}</td>
                <td>{formatValue(after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Dialog>
  );
}
