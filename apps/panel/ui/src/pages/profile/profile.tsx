import { useState } from 'react';
import { NAME_LENGTH_MAX, PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '#contracts/rules/bounds.js';
import type { Me, MeUpdateRequest, Session, SessionListReply } from '../../../../src/shapes/identity.js';
import { useApi, useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { chooseZone, useZone, ZONES, type Zone } from '../../data/time-zone.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Form } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { Card, Columns, Failure, Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { relativeTime, zoneName } from '../../parts/time.js';
import { nameBrowser } from './name-browser.js';
import { SecondFactors } from './second-factors.js';

/** The signed-in person: name, password, second factor, sessions. */
export function Profile() {
  const { me } = useSession();
  const sessions = useApi<SessionListReply>('/sessions');
  const ending = useChange<unknown, string>((sessionId) => ({ method: 'DELETE', path: `/sessions/${sessionId}` }));
  const endingOthers = useChange<unknown>(() => ({ method: 'DELETE', path: '/sessions' }));
  const error = ending.error ?? endingOthers.error;
  return (
    <Page title="Profile" about={me.email}>
      {error && <Failure error={error} />}
      <Columns>
        <NameForm me={me} />
        {me.hasPassword && <NewPasswordForm />}
        <ZoneCard />
      </Columns>
      {me.hasPassword && <SecondFactors />}
      <Card
        flush
        title="Sessions"
        note="end after 30 minutes without use, or 12 hours"
        actions={
          <Button busy={endingOthers.isPending} onClick={() => endingOthers.mutate()}>
            End all others
          </Button>
        }
      >
        <Table<Session>
          caption="Sessions"
          rows={sessions.data?.sessions}
          placeholders={2}
          rowKey={({ sessionId }) => sessionId}
          columns={[
            { head: 'Browser', grow: true, cell: ({ userAgent, address }) => <TwoLines main={nameBrowser(userAgent)} more={address} /> },
            { head: 'Signed in', wide: true, cell: ({ createdAt }) => relativeTime(createdAt, Date.now()) },
            { head: 'Last use', cell: ({ seenAt }) => relativeTime(seenAt, Date.now()) },
            {
              head: '',
              align: 'end',
              cell: ({ sessionId, isCurrent }) =>
                isCurrent ? (
                  <Badge tone="accent">This one</Badge>
                ) : (
                  <Button look="quiet" onClick={() => ending.mutate(sessionId)}>
                    End
                  </Button>
                ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}

/** The zone of the moments on all pages. */
function ZoneCard() {
  const zone = useZone();
  const local = `${ZONES.local}: ${Intl.DateTimeFormat().resolvedOptions().timeZone}, now ${zoneName('local', Date.now())}`;
  return (
    <Card title="Time zone" note="of this browser">
      <SelectField
        label="Moments are shown in"
        hint="Hovering over a moment shows both. Days of usage, charts and statements are those of UTC."
        options={[
          ['local', local],
          ['utc', ZONES.utc],
        ]}
        value={zone}
        onChoose={(chosen) => chooseZone(chosen as Zone)}
      />
    </Card>
  );
}

function NameForm({ me }: { me: Me }) {
  const [name, setName] = useState(me.name);
  const saving = useChange<Me>(() => ({ method: 'PATCH', path: '/me', body: { name } satisfies MeUpdateRequest }));
  return (
    <Card title="Name">
      <Form submit={saving.isSuccess ? 'Saved' : 'Save name'} look="secondary" change={saving}>
        <TextField label="Name" hint="Shown in the audit journal." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
      </Form>
    </Card>
  );
}

function NewPasswordForm() {
  const [currentPassword, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const saving = useChange<Me>(() => ({ method: 'PATCH', path: '/me', body: { password, currentPassword } satisfies MeUpdateRequest }));
  return (
    <Card title="Password">
      <Form submit={saving.isSuccess ? 'Changed' : 'Change password'} look="secondary" change={saving}>
        <TextField
          label="Present password"
          type="password"
          autoComplete="current-password"
          value={currentPassword}
          onText={setCurrent}
          required
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          hint="12 characters or more. Your other sessions end."
          minLength={PASSWORD_LENGTH_MIN}
          maxLength={PASSWORD_LENGTH_MAX}
          value={password}
          onText={setPassword}
          required
        />
      </Form>
    </Card>
  );
}
