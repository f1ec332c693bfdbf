import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type {
  AddedSecondFactor,
  NewAppSecret,
  NewPasskeyOptions,
  RecoveryCodesReply,
  SecondFactor,
  SecondFactorAddRequest,
  SecondFactorListReply,
} from '../../../../src/shapes/identity.js';
import { callApi, useApi, useChange } from '../../data/api.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Confirm, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Failure } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import styles from './second-factors.module.css';

const KINDS: Record<SecondFactor['kind'], string> = { app: 'Authenticator app', passkey: 'Passkey' };

type Asking = { kind: 'app'; made: NewAppSecret } | { kind: 'passkey' } | { kind: 'remove'; factor: SecondFactor };

/** The second factors of the person, and the ways to add and remove them. */
export function SecondFactors() {
  const list = useApi<SecondFactorListReply>('/me/second-factors');
  const [asking, setAsking] = useState<Asking>();
  const [codes, setCodes] = useState<string[]>();
  const preparing = useChange<NewAppSecret>(() => ({ method: 'POST', path: '/me/second-factors/app' }));
  const replacing = useChange<RecoveryCodesReply>(() => ({ method: 'POST', path: '/me/recovery-codes' }));
  const close = () => setAsking(undefined);
  const onAdded = ({ recoveryCodes }: AddedSecondFactor) => {
    close();
    if (recoveryCodes) setCodes(recoveryCodes);
  };
  const error = preparing.error ?? replacing.error;
  const has = (list.data?.factors.length ?? 0) > 0;
  return (
    <Card
      flush
      title="Second factor"
      note="asked after the password"
      actions={
        <>
          {has && (
            <Button
              busy={replacing.isPending}
              onClick={() => replacing.mutate(undefined, { onSuccess: (made) => setCodes(made.recoveryCodes) })}
            >
              New recovery codes
            </Button>
          )}
          {list.data?.allowsPasskeys && <Button onClick={() => setAsking({ kind: 'passkey' })}>Add passkey</Button>}
          <Button
            busy={preparing.isPending}
            onClick={() => preparing.mutate(undefined, { onSuccess: (made) => setAsking({ kind: 'app', made }) })}
          >
            Add app
          </Button>
        </>
      }
    >
      {error && <Failure error={error} />}
      <Table<SecondFactor>
        caption="Second factor"
        rows={list.data?.factors}
        placeholders={1}
        rowKey={({ factorId }) => factorId}
        empty={
          <Empty
            icon="person"
            title="The password alone signs you in"
            text={`Add an app${list.data?.allowsPasskeys ? ' or a passkey' : ''}, so that a stolen password is not enough.`}
          />
        }
        columns={[
          { head: 'Name', grow: true, cell: ({ kind, name }) => <TwoLines main={name} more={KINDS[kind]} /> },
          { head: 'Added', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
          { head: 'Last use', cell: ({ usedAt }) => (usedAt ? <Moment at={usedAt} format="day" /> : 'never') },
          buttonColumn('Remove', (factor) => setAsking({ kind: 'remove', factor })),
        ]}
      />
      {has && <p className={styles.left}>{list.data?.recoveryCodesLeft} recovery codes left.</p>}
      {asking?.kind === 'app' && <AddApp made={asking.made} onClose={close} onAdded={onAdded} />}
      {asking?.kind === 'passkey' && <AddPasskey onClose={close} onAdded={onAdded} />}
      {asking?.kind === 'remove' && (
        <Confirm
          title={`Remove ${asking.factor.name}?`}
          text={
            list.data?.factors.length === 1
              ? 'It is the last one: the password alone signs you in then, and your recovery codes end.'
              : 'It no longer signs you in.'
          }
          action="Remove"
          path={`/me/second-factors/${asking.factor.factorId}`}
          onClose={close}
        />
      )}
      {codes && (
        <DoneDialog title="Your recovery codes" onClose={() => setCodes(undefined)}>
          {(onCopied) => (
            <>
              <p>Each signs you in once when the app or passkey is lost. They are not shown again, and former ones have ended.</p>
              <CopyLine text={codes.join('\n')} label="Copy the codes" onCopied={onCopied} />
            </>
          )}
        </DoneDialog>
      )}
    </Card>
  );
}

interface AddProps {
  onClose: () => void;
  onAdded: (added: AddedSecondFactor) => void;
}

function AddApp({ made, onClose, onAdded }: AddProps & { made: NewAppSecret }) {
  const [name, setName] = useState('Phone');
  const [code, setCode] = useState('');
  const { data: image } = useQuery({
    queryKey: ['square', made.uri],
    queryFn: async () => (await import('uqr')).renderSVG(made.uri, { border: 2 }),
  });
  const adding = useAdding(async () => ({ name, secret: made.secret, code }), onAdded);
  return (
    <DialogForm title="Add an authenticator app" submit="Add app" change={adding} onClose={onClose}>
      <p>Scan the square with the app, or type the secret. Then type the code that the app shows.</p>
      {image && (
        <img className={styles.square} alt="QR code with the secret below" src={`data:image/svg+xml,${encodeURIComponent(image)}`} />
      )}
      <CopyLine text={made.secret} label="Copy the secret" />
      <TextField label="Code of the app" inputMode="numeric" autoComplete="one-time-code" value={code} onText={setCode} required />
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
    </DialogForm>
  );
}

function AddPasskey({ onClose, onAdded }: AddProps) {
  const [name, setName] = useState('This device');
  const adding = useAdding(async () => ({ name, passkey: await makePasskey() }), onAdded);
  return (
    <DialogForm title="Add a passkey" submit="Add passkey" change={adding} onClose={onClose}>
      <p>Your browser asks for the screen lock of this device, or for a security key.</p>
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
    </DialogForm>
  );
}

/** Adds the factor that `make` returns. */
function useAdding(make: () => Promise<SecondFactorAddRequest>, onAdded: (added: AddedSecondFactor) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => callApi<AddedSecondFactor>('POST', '/me/second-factors', { body: await make() }),
    onSuccess: (added) => {
      onAdded(added);
      return client.invalidateQueries({ queryKey: ['/me/second-factors'] });
    },
  });
}

async function makePasskey(): Promise<string> {
  const { options } = await callApi<NewPasskeyOptions>('POST', '/me/second-factors/passkey');
  const { startRegistration } = await import('@simplewebauthn/browser');
  const answer = await startRegistration({ optionsJSON: JSON.parse(options) }).catch(() => {
    throw new Error('The browser made no passkey. Try again.');
  });
  return JSON.stringify(answer);
}
