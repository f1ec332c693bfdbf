import type { WebhookFormat } from '../../../../src/shapes/billing.js';
import { useSession } from '../../data/session.js';
import { SelectField, TextField } from '../../parts/field.js';

const URL_LENGTH_MAX = 2_048;

export function UrlField({ value, onText }: { value: string; onText: (text: string) => void }) {
  return (
    <TextField
      label="URL"
      type="url"
      hint="With https. It gets each event by POST."
      placeholder="https://hooks.example.com/tollgate"
      value={value}
      onText={onText}
      maxLength={URL_LENGTH_MAX}
      autoComplete="off"
      required
    />
  );
}

export function FormatField({ value, onChoose }: { value: WebhookFormat; onChoose: (format: WebhookFormat) => void }) {
  return (
    <SelectField
      label="For"
      options={[
        ['json', 'A program: the event as JSON'],
        ['slack', 'Slack or a chat like it: one sentence'],
      ]}
      value={value}
      onChoose={onChoose}
    />
  );
}

/** The choice of the networks that a webhook may be in, for operators. People of an account have public addresses alone. */
export function NetworkField({ value, onChoose }: { value: boolean; onChoose: (allowsPrivate: boolean) => void }) {
  const { mayOnPlatform } = useSession();
  if (!mayOnPlatform('accounts')) return null;
  return (
    <SelectField
      label="Addresses"
      options={[
        ['public', 'Public, with https'],
        ['private', 'Also private, and http'],
      ]}
      value={value ? 'private' : 'public'}
      onChoose={(choice) => onChoose(choice === 'private')}
    />
  );
}
