import { useState } from 'react';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type {
  CreatedInvite,
  CreatedToken,
  Invite,
  InviteCreateRequest,
  InviteListReply,
  Member,
  MemberListReply,
  Permission,
  Role,
  Token,
  TokenCreateRequest,
  TokenListReply,
} from '../../../../src/shapes/identity.js';
import { useApi, useChange, withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Confirm, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import styles from './members.module.css';

type Asking =
  | { kind: 'invite' }
  | { kind: 'token' }
  | { kind: 'remove'; member: Member }
  | { kind: 'withdraw'; invite: Invite }
  | { kind: 'revoke'; token: Token };

/** People with a role in the account or on the platform, open invites, and tokens of programs. */
export function Members() {
  const { account, accountName, may, me } = useSession();
  const accountId = account === 'all' ? undefined : account;
  const members = useApi<MemberListReply>(withQuery('/members', { accountId, limit: 200 }));
  const invites = useApi<InviteListReply>(may('members') ? withQuery('/invites', { accountId, limit: 200 }) : null);
  const tokens = useApi<TokenListReply>(may('tokens') ? withQuery('/tokens', { accountId, limit: 200 }) : null);
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const findRole = ({ grants }: Member) =>
    grants
      .map((grant) =>
        grant.accountId === null
          ? `${grant.role} of the platform`
          : accountId
            ? grant.role
            : `${grant.role} of ${accountName(grant.accountId)}`,
      )
      .join(', ');
  return (
    <Page
      title="Members"
      about={accountId ? `People with a role in ${accountName(accountId)}.` : 'People with a role anywhere.'}
      actions={
        may('members') && (
          <Button look="primary" icon="plus" onClick={() => setAsking({ kind: 'invite' })}>
            Invite
          </Button>
        )
      }
    >
      <Card flush title="People">
        <Table<Member>
          caption="People"
          rows={members.data?.members}
          placeholders={3}
          rowKey={({ userId }) => userId}
          isMuted={({ disabledAt }) => disabledAt !== null}
          empty={<Empty icon="members" title="No one has a role in this account" text="People with a role of the platform see it too." />}
          columns={[
            { head: 'Name', grow: true, cell: ({ name, email }) => <TwoLines main={name} more={email} /> },
            { head: 'Role', wrap: true, cell: findRole },
            { head: 'Since', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            {
              head: 'State',
              wide: true,
              cell: ({ disabledAt }) => (disabledAt ? <Badge>Disabled</Badge> : <Badge tone="good">Active</Badge>),
            },
            buttonColumn('Remove', (member) => setAsking({ kind: 'remove', member }), {
              has: (member) => may('members') && member.userId !== me.userId,
            }),
          ]}
        />
      </Card>
      {may('members') && (
        <Card flush title="Open invites" note="a link works once, within 24 hours">
          <Table<Invite>
            caption="Open invites"
            rows={invites.data?.invites}
            placeholders={1}
            rowKey={({ inviteId }) => inviteId}
            empty={<Empty icon="person" title="No open invites" />}
            columns={[
              { head: 'E-mail', grow: true, cell: ({ email }) => email ?? 'any' },
              { head: 'Role', cell: ({ role, accountId: of }) => (of === null ? `${role} of the platform` : role) },
              { head: 'Ends', wide: true, cell: ({ expiresAt }) => relativeTime(expiresAt, Date.now()) },
              buttonColumn('Withdraw', (invite) => setAsking({ kind: 'withdraw', invite })),
            ]}
          />
        </Card>
      )}
      {may('tokens') && (
        <Card
          flush
          title="Tokens"
          note="for programs that use the panel's API"
          actions={
            <Button icon="plus" onClick={() => setAsking({ kind: 'token' })}>
              New token
            </Button>
          }
        >
          <Table<Token>
            caption="Tokens"
            rows={tokens.data?.tokens}
            placeholders={1}
            rowKey={({ tokenId }) => tokenId}
            isMuted={({ revokedAt }) => revokedAt !== null}
            empty={
              <Empty
                icon="keys"
                title="No tokens"
                text="A token lets a program read or change what you choose, until a day that you choose."
              />
            }
            columns={[
              { head: 'Name', grow: true, cell: ({ name, lastFour }) => <TwoLines main={name} more={<code>tg_adm_…{lastFour}</code>} /> },
              { head: 'May', wide: true, cell: ({ permissions }) => permissions.join(', ') },
              { head: 'Last use', wide: true, cell: ({ usedAt }) => (usedAt ? relativeTime(usedAt, Date.now()) : 'never') },
              {
                head: 'Ends',
                cell: ({ expiresAt, revokedAt }) => (revokedAt ? <Badge>Revoked</Badge> : relativeTime(expiresAt, Date.now())),
              },
              buttonColumn('Revoke', (token) => setAsking({ kind: 'revoke', token }), { has: (token) => !token.revokedAt }),
            ]}
          />
        </Card>
      )}
      {asking?.kind === 'invite' && <NewInvite accountId={accountId} onClose={close} />}
      {asking?.kind === 'token' && <NewToken accountId={accountId} onClose={close} />}
      {asking?.kind === 'remove' && (
        <Confirm
          title={`Remove ${asking.member.name}?`}
          text="The person loses the role at once, and their sessions end."
          action="Remove"
          path={withQuery(`/members/${asking.member.userId}`, { accountId })}
          onClose={close}
        />
      )}
      {asking?.kind === 'withdraw' && (
        <Confirm
          title={`Withdraw the invite of ${asking.invite.email ?? 'a new person'}?`}
          text="Its link stops working."
          action="Withdraw"
          path={`/invites/${asking.invite.inviteId}`}
          onClose={close}
        />
      )}
      {asking?.kind === 'revoke' && (
        <Confirm
          title={`Revoke ${asking.token.name}?`}
          text="Programs with this token get 401 at once. A revoked token stays revoked."
          action="Revoke"
          path={`/tokens/${asking.token.tokenId}`}
          onClose={close}
        />
      )}
    </Page>
  );
}

const PLATFORM_ROLES: [Role, string][] = [
  ['admin', 'Admin: everything, in every account'],
  ['auditor', 'Auditor: reads everything'],
];
const ACCOUNT_ROLES: [Role, string][] = [
  ['owner', 'Owner: projects, keys, members, money'],
  ['finance', 'Finance: money and budgets'],
  ['developer', 'Developer: projects and keys'],
  ['viewer', 'Viewer: usage and requests'],
];

/** Makes a link for one person, which is shown once. */
export function NewInvite({ accountId, onClose }: { accountId: string | undefined; onClose: () => void }) {
  const { accountName } = useSession();
  const roles = accountId ? ACCOUNT_ROLES : PLATFORM_ROLES;
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>(accountId ? 'developer' : 'auditor');
  const inviting = useChange<CreatedInvite>(() => ({
    method: 'POST',
    path: '/invites',
    body: { email, role, ...(accountId && { accountId }) } satisfies InviteCreateRequest,
  }));
  if (inviting.data) {
    return (
      <DoneDialog title="Invite created" onClose={onClose}>
        {(onCopied) => (
          <>
            <p>Send this link to {email}. It works once, within 24 hours, and is not shown again.</p>
            <CopyLine text={inviting.data.link} label="Copy the link" wrap onCopied={onCopied} />
          </>
        )}
      </DoneDialog>
    );
  }
  return (
    <DialogForm
      title={accountId ? `Invite to ${accountName(accountId)}` : 'Invite to the platform'}
      submit="Create link"
      change={inviting}
      onClose={onClose}
    >
      <TextField label="E-mail" type="email" value={email} onText={setEmail} required />
      <SelectField label="Role" options={roles} value={role} onChoose={setRole} />
    </DialogForm>
  );
}

const DAY_MS = 86_400_000;
const LIFETIMES = [7, 30, 90, 366];
/** Tokens never manage people. */
const NEVER: Permission[] = ['members', 'members.read', 'tokens', 'playground'];

/** Makes a token with permissions that the person has, and shows it once. */
export function NewToken({ accountId, onClose }: { accountId: string | undefined; onClose: () => void }) {
  const { me, may } = useSession();
  const [tokenId] = useState(() => crypto.randomUUID());
  const [name, setName] = useState('');
  const [days, setDays] = useState(90);
  const [permissions, setPermissions] = useState<Permission[]>(['usage.read']);
  const offered = [...new Set(me.grants.flatMap((grant) => grant.permissions))].filter(
    (permission) => may(permission) && !NEVER.includes(permission),
  );
  const making = useChange<CreatedToken>(() => ({
    method: 'POST',
    path: '/tokens',
    body: {
      tokenId,
      name,
      permissions,
      expiresAt: new Date(Date.now() + days * DAY_MS).toISOString(),
      ...(accountId && { accountId }),
    } satisfies TokenCreateRequest,
  }));
  if (making.data) {
    return (
      <DoneDialog title="Your new token" onClose={onClose}>
        {(onCopied) => (
          <>
            <p>Copy it now. The panel cannot show it again.</p>
            <CopyLine text={making.data.token} label="Copy the token" wrap onCopied={onCopied} />
            <CopyLine
              text={`curl ${location.origin}/panel/v1/accounts \\\n  -H "authorization: Bearer ${making.data.token}"`}
              label="Copy the call"
              onCopied={onCopied}
            />
          </>
        )}
      </DoneDialog>
    );
  }
  return (
    <DialogForm title="New token" submit="Create token" change={making} onClose={onClose} disabled={permissions.length === 0}>
      <TextField label="Name" hint="The program that uses it." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
      <fieldset className={styles.permissions}>
        <legend>It may</legend>
        {offered.map((permission) => (
          <label key={permission}>
            <input
              type="checkbox"
              checked={permissions.includes(permission)}
              onChange={(event) =>
                setPermissions(event.target.checked ? [...permissions, permission] : permissions.filter((each) => each !== permission))
              }
            />
            {permission}
          </label>
        ))}
      </fieldset>
      <SelectField label="Ends" options={LIFETIMES.map((each) => [each, `in ${each} days`])} value={days} onChoose={setDays} />
    </DialogForm>
  );
}
