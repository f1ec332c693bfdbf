import { useState } from 'react';
import type { Invite, InviteListReply, Member, MemberListReply, Token, TokenListReply } from '../../../../src/shapes/identity.js';
import { useApi, withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Confirm } from '../../parts/dialog.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { NewInvite } from './new-invite.js';
import { NewToken } from './new-token.js';

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
          empty={<Empty icon="members" title="No one has a role here" />}
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
              <Empty icon="keys" title="No tokens">
                <p>A token lets a program read or change what you choose, until a day that you choose.</p>
              </Empty>
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
