import { useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { AuditEntry, AuditListReply } from '../../../../src/shapes/audit.js';
import { usePages, withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { ButtonLink, MoreButton } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { CompactSelect } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Fact, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import styles from './audit.module.css';
import { formatValue, listChanges, summarizeChange } from './changes.js';

/** Actions that the filter offers; an address may name any. */
const ACTIONS = [
  ...['account.create', 'account.update', 'project.create', 'project.update', 'key.create', 'key.revoke'],
  ...['topup.create', 'plan.grant', 'plan.subscribe', 'plan.cancel', 'refund.create', 'adjustment.create', 'credit-note.create'],
  ...['catalog.apply', 'price.schedule', 'price.apply', 'price.cancel'],
  ...['invite.create', 'invite.accept', 'user.update', 'user.remove-password', 'token.create', 'token.revoke'],
  ...['session.start', 'session.refuse', 'permission.refuse'],
];

/** Administrative changes and sign-ins: the journals of all services, newest first. */
export function Audit() {
  const { account, accountName } = useSession();
  const [path, navigate] = useLocation();
  const action = new URLSearchParams(useSearch()).get('action') ?? '';
  const question = { accountId: account === 'all' ? undefined : account, action };
  const list = usePages<AuditListReply>(withQuery('/audit', { ...question, limit: 50 }));
  const [shown, setShown] = useState<AuditEntry>();
  return (
    <Page
      title="Audit"
      about="Every change, with who made it, in the order of time. It cannot be edited."
      actions={
        <>
          <CompactSelect
            label="Action"
            all="All actions"
            options={ACTIONS.map((name) => [name, name])}
            value={action}
            onChoose={(chosen) => navigate(withQuery(path, { action: chosen }), { replace: true })}
          />
          <ButtonLink to={withQuery('/panel/v1/audit.csv', question)} icon="download" download>
            CSV
          </ButtonLink>
        </>
      }
    >
      <Card flush>
        <Table<AuditEntry>
          caption="Changes"
          rows={list.data?.pages.flatMap(({ entries }) => entries)}
          placeholders={10}
          rowKey={({ id, service }) => `${service} ${id}`}
          empty={<Empty icon="audit" title="No changes" text="Changes of accounts, keys, money, the catalog and people appear here." />}
          columns={[
            { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
            {
              head: 'Who',
              wide: true,
              cell: ({ actor, actorName, via }) => <TwoLines main={actorName ?? actor} more={via ? `over ${via}` : ''} />,
            },
            {
              head: 'Action',
              cell: ({ action: name, actor, actorName }) => <TwoLines main={<code>{name}</code>} more={actorName ?? actor} narrow />,
            },
            {
              head: 'Change',
              grow: true,
              wide: true,
              cell: (entry) => (
                <TwoLines
                  main={summarizeChange(entry)}
                  more={[entry.accountId && accountName(entry.accountId), entry.reason].filter(Boolean).join(' · ')}
                />
              ),
            },
            buttonColumn('Details', setShown),
          ]}
        />
      </Card>
      <MoreButton list={list}>Older changes</MoreButton>
      {shown && <Details entry={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

function Details({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const facts: [name: string, value: string | null][] = [
    ['Who', entry.actor],
    ['Over', entry.via],
    ['Address', entry.ip],
    ['Request id', entry.requestId],
    ['Target', entry.target],
    ['Reason', entry.reason],
  ];
  return (
    <Dialog title={entry.action} onClose={onClose}>
      <dl className={styles.facts}>
        <Fact name="Time">
          <Moment at={entry.at} />
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
      <table className={styles.changes}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {listChanges(entry).map(({ field, before, after }) => (
            <tr key={field}>
              <th scope="row">{field}</th>
              <td>{formatValue(before)}</td>
              <td>{formatValue(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
