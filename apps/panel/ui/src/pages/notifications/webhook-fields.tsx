import type { WebhookFormat } from '../../../../src/shapes/billing.js';
import { useSession } from '../../data/session.js';
import { SelectField, TextField } from '../../parts/field.js';

const URL_LENGTH_MAX = 2_048;

const MAILTO = 'mailto:';

/** The URL of a webhook; for mail the address alone. */
export function UrlField({ format, value, onText }: { format: WebhookFormat; value: string; onText: (text: string) => void }) {
  if (format === 'mail') {
    return (
      <TextField
        label="E-mail"
        type="email"
        hint="Of a person who may see this page."
        value={value.replace(MAILTO, '')}
        onText={(text) => onText(MAILTO + text.trim().toLowerCase())}
        required
      />
    );
  }
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

interface FormatFieldProps {
  value: WebhookFormat;
  /** True when there is a mail server. Absent: the receiver stays no person. */
  hasMail?: boolean;
  onChoose: (format: WebhookFormat) => void;
}

export function FormatField({ value, hasMail, onChoose }: FormatFieldProps) {
  return (
    <SelectField
      label="For"
      options={[
        ['json', 'A program: the event as JSON'],
        ['slack', 'Slack or a chat like it: one sentence'],
        ...(hasMail ? [['mail', 'A person, by mail: one sentence'] as const] : []),
      ]}
      {...(hasMail === false && { hint: 'A person by mail: only where the panel has a mail server (SMTP_URL).' })}
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
