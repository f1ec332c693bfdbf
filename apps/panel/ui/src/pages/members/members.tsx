import { useState } from 'react';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { Project } from '../../../../src/shapes/billing.js';
import type {
  CreatedToken,
  Grant,
  Invite,
  InviteCreateRequest,
  InviteListReply,
  Member,
  MemberListReply,
  MemberUpdateRequest,
  Permission,
  Role,
  SentInvite,
  Token,
  TokenCreateRequest,
  TokenListReply,
} from '../../../../src/shapes/identity.js';
import { useApi, useChange, withQuery } from '../../data/api.js';
import { listProjects, useNames, useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Confirm, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { MailFailure } from '../../parts/mail-failure.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import styles from './members.module.css';
import { listRoles, ROLE_NAMES, type RolePlace } from './role-names.js';

type Asking =
  | { kind: 'invite' }
  | { kind: 'token' }
  | { kind: 'change'; held: HeldRole }
  | { kind: 'remove'; held: HeldRole }
  | { kind: 'withdraw'; invite: Invite }
  | { kind: 'revoke'; token: Token };

/** A role of a person, which is a row of the table. */
interface HeldRole {
  member: Member;
  grant: Grant;
}

/** People with a role in the account, in its projects or on the platform, open invites, and tokens of programs. */
export function Members() {
  const { account, accountName, may, me } = useSession();
  const { projects, projectName } = useNames();
  const accountId = account === 'all' ? undefined : account;
  const members = useApi<MemberListReply>(withQuery('/members', { accountId, limit: 200 }));
  const invites = useApi<InviteListReply>(may('members') ? withQuery('/invites', { accountId, limit: 200 }) : null);
  const tokens = useApi<TokenListReply>(may('tokens') ? withQuery('/tokens', { accountId, limit: 200 }) : null);
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const findPlace = ({ accountId: ofAccount, projectId }: RolePlace) => {
    if (ofAccount === null) return 'The platform';
    if (projectId === null) return accountId ? 'The whole account' : accountName(ofAccount);
    return `Project ${projectName(projectId)}${accountId ? '' : ` of ${accountName(ofAccount)}`}`;
  };
  const held = members.data?.members.flatMap((member) => member.grants.map((grant): HeldRole => ({ member, grant })));
  const maySet = ({ member }: HeldRole) => may('members') && member.userId !== me.userId;
  return (
    <Page
      title="Members"
      about={
        accountId
          ? `People with a role in ${accountName(accountId)} or in a project of it. People with a role of the platform see it too.`
          : 'People with a role anywhere.'
      }
      actions={
        may('members') && (
          <Button look="primary" icon="plus" onClick={() => setAsking({ kind: 'invite' })}>
            Invite
          </Button>
        )
      }
    >
      <Card flush title="People">
        <Table<HeldRole>
          caption="People"
          rows={held}
          placeholders={3}
          rowKey={({ member, grant }) => `${member.userId} ${grant.projectId ?? grant.accountId}`}
          isMuted={({ member }) => member.disabledAt !== null}
          empty={<Empty icon="members" title="No one has a role in this account" />}
          columns={[
            { head: 'Name', grow: true, cell: ({ member: { name, email } }) => <TwoLines main={name} more={email} /> },
            { head: 'Role', cell: ({ grant }) => <TwoLines main={ROLE_NAMES[grant.role]} more={findPlace(grant)} narrow /> },
            { head: 'Access to', wide: true, cell: ({ grant }) => findPlace(grant) },
            { head: 'Since', wide: true, cell: ({ member }) => <Moment at={member.createdAt} format="day" /> },
            {
              head: 'State',
              wide: true,
              cell: ({ member }) => (member.disabledAt ? <Badge>Disabled</Badge> : <Badge tone="good">Active</Badge>),
            },
            {
              head: '',
              align: 'end',
              cell: (one) =>
                maySet(one) && <RoleButtons {...one} place={findPlace(one.grant)} onAsk={(kind) => setAsking({ kind, held: one })} />,
            },
          ]}
        />
      </Card>
      {may('members') && (
        <Card flush title="Open invites" note="a link works once, within 24 hours">
          <MailFailure mail={invites.data?.mail} />
          <Table<Invite>
            caption="Open invites"
            rows={invites.data?.invites}
            placeholders={1}
            rowKey={({ inviteId }) => inviteId}
            empty={<Empty icon="person" title="No open invites" />}
            columns={[
              { head: 'E-mail', grow: true, cell: ({ email }) => email ?? 'any' },
              { head: 'Role', cell: (invite) => <TwoLines main={ROLE_NAMES[invite.role]} more={findPlace(invite)} /> },
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
      {asking?.kind === 'invite' && <NewInvite accountId={accountId} projects={projects ?? []} onClose={close} />}
      {asking?.kind === 'change' && <ChangeRole {...asking.held} place={findPlace(asking.held.grant)} onClose={close} />}
      {asking?.kind === 'token' && <NewToken accountId={accountId} onClose={close} />}
      {asking?.kind === 'remove' && (
        <Confirm
          title={`Remove ${asking.held.member.name}?`}
          text={`${findPlace(asking.held.grant)}: the person loses the role at once, and their sessions end.`}
          action="Remove"
          path={withQuery(`/members/${asking.held.member.userId}`, {
            accountId: asking.held.grant.accountId,
            projectId: asking.held.grant.projectId,
          })}
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

/** Below one another on narrow screens. */
function RoleButtons({ member, place, onAsk }: HeldRole & { place: string; onAsk: (kind: 'change' | 'remove') => void }) {
  return (
    <span className={styles.buttons}>
      <Button look="quiet" aria-label={`Change the role of ${member.name}: ${place}`} onClick={() => onAsk('change')}>
        Change
      </Button>
      <Button look="quiet" aria-label={`Remove ${member.name}: ${place}`} onClick={() => onAsk('remove')}>
        Remove
      </Button>
    </span>
  );
}

/** Makes a link for one person, which is shown once. */
export function NewInvite({ accountId, projects, onClose }: { accountId: string | undefined; projects: Project[]; onClose: () => void }) {
  const { accountName } = useSession();
  const [email, setEmail] = useState('');
  const [projectId, setProject] = useState('');
  const place = { accountId: accountId ?? null, projectId: projectId || null };
  const [chosen, setRole] = useState<Role>();
  const roles = listRoles(place);
  const role = roles.find(([name]) => name === chosen)?.[0] ?? (accountId ? (projectId ? 'project-developer' : 'developer') : 'auditor');
  const inviting = useChange<SentInvite>(() => ({
    method: 'POST',
    path: '/invites',
    body: { email, role, ...(accountId && { accountId }), ...(projectId && { projectId }) } satisfies InviteCreateRequest,
  }));
  if (inviting.data) {
    return (
      <DoneDialog title="Invite created" onClose={onClose}>
        {(onCopied) => (
          <>
            <p>
              {inviting.data.isMailed ? `The link is on its way to ${email}. You can send it yourself too.` : `Send this link to ${email}.`}{' '}
              It works once, within 24 hours, and is not shown again.
            </p>
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
      {projects.length > 0 && accountId && (
        <SelectField
          label="Access to"
          options={[['', 'The whole account'], ...listProjects(projects).map(([id, name]): [string, string] => [id, `Project ${name}`])]}
          value={projectId}
          onChoose={setProject}
        />
      )}
      <SelectField label="Role" options={roles} value={role} onChoose={setRole} />
    </DialogForm>
  );
}

/** Gives a person another role in the same place. */
export function ChangeRole({ member, grant, place, onClose }: HeldRole & { place: string; onClose: () => void }) {
  const [role, setRole] = useState(grant.role);
  const { accountId, projectId } = grant;
  const saving = useChange<Member>(() => ({
    method: 'PATCH',
    path: `/members/${member.userId}`,
    body: { role, ...(accountId && { accountId }), ...(projectId && { projectId }) } satisfies MemberUpdateRequest,
  }));
  return (
    <DialogForm
      title={`Role of ${member.name}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      disabled={role === grant.role}
    >
      <p>{place}. A new role ends the sessions of the person.</p>
      <SelectField label="Role" options={listRoles(grant)} value={role} onChoose={setRole} />
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
