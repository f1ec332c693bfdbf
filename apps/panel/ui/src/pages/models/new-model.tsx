import { useState } from 'react';
import { plural } from '../../format/numbers.js';
import { DialogForm } from '../../parts/dialog.js';
import { AmountField, CheckField, SelectField, TextField } from '../../parts/field.js';
import { readIds } from '../upstreams/insert-entry.js';
import { insertWholeModel } from './insert-model.js';
import { findIdFault, type ModelTexts, type PriceField, readModel, readPrice, readTokens, type TokenField } from './read-model.js';

interface FieldWords {
  label: string;
  hint?: string;
  isOptional?: boolean;
}

const TOKEN_FIELDS: Record<TokenField, FieldWords> = {
  contextTokens: { label: 'Context, tokens', hint: 'Prompt and output together.' },
  maxOutputTokens: { label: 'Longest reply, tokens' },
  defaultOutputTokens: {
    label: 'Default output, tokens',
    hint: 'Limit of requests without one. Empty: the longest reply, at most 4,096.',
    isOptional: true,
  },
};
const PRICE_FIELDS: Record<PriceField, FieldWords> = {
  inputUsdPerMTok: { label: 'Input, USD per million tokens' },
  cachedInputUsdPerMTok: { label: 'Cached input, USD per million tokens', hint: 'Empty: as input.', isOptional: true },
  outputUsdPerMTok: { label: 'Output, USD per million tokens' },
  cacheWriteUsdPerMTok: { label: 'Cache write, USD per million tokens', hint: 'Empty: as input.', isOptional: true },
};

/** A form that writes a model into the text of the catalog file. It applies nothing. */
export function NewModelForm({
  yaml,
  onInsert,
  onClose,
}: {
  yaml: string;
  onInsert: (inserted: { yaml: string; line: number }) => void;
  onClose: () => void;
}) {
  const upstreams = readIds(yaml, 'upstreams');
  const taken = readIds(yaml, 'models');
  const [texts, setTexts] = useState<ModelTexts>({
    ...{ id: '', upstream: upstreams[0] ?? '', model: '' },
    ...{ contextTokens: '', maxOutputTokens: '', defaultOutputTokens: '' },
    ...{ inputUsdPerMTok: '', cachedInputUsdPerMTok: '', cacheWriteUsdPerMTok: '', outputUsdPerMTok: '' },
  });
  const [takesImages, setTakesImages] = useState(false);
  const [reasons, setReasons] = useState(false);
  const change = (part: Partial<ModelTexts>) => setTexts({ ...texts, ...part });
  const tokens = readTokens(texts);
  const model = readModel(texts, { takesImages, reasons }, taken);
  // At once, so that the dialog has returned the focus when the editor takes it.
  const insert = () => {
    if (model) onInsert(insertWholeModel(yaml, model));
    onClose();
  };
  return (
    <DialogForm
      title="New model"
      submit="Write into the file"
      change={{ mutate: insert, error: null, isPending: false }}
      onClose={onClose}
      disabled={!model}
    >
      <p>Writes an entry into the text of the file. Nothing changes until you apply the text.</p>
      <TextField
        label="Id"
        hint="“model” of client requests."
        value={texts.id}
        onText={(id) => change({ id })}
        fault={findIdFault(texts.id, taken)}
        maxLength={256}
        spellCheck={false}
        autoComplete="off"
        required
      />
      {upstreams.length > 0 ? (
        <SelectField
          label="Upstream"
          options={upstreams.map((id) => [id, id])}
          value={texts.upstream}
          onChoose={(upstream) => change({ upstream })}
        />
      ) : (
        <TextField label="Upstream" value={texts.upstream} onText={(upstream) => change({ upstream })} maxLength={64} required />
      )}
      <TextField
        label="Name at the upstream"
        hint="Empty: the id."
        value={texts.model}
        onText={(name) => change({ model: name })}
        maxLength={256}
        spellCheck={false}
        autoComplete="off"
      />
      {(Object.keys(TOKEN_FIELDS) as TokenField[]).map((field) => (
        <AmountField
          key={field}
          {...TOKEN_FIELDS[field]}
          value={texts[field]}
          onText={(text) => change({ [field]: text })}
          read={tokens[field]}
          render={(amount) => plural(Number(amount), 'token')}
        />
      ))}
      {(Object.keys(PRICE_FIELDS) as PriceField[]).map((field) => (
        <AmountField
          key={field}
          {...PRICE_FIELDS[field]}
          value={texts[field]}
          onText={(text) => change({ [field]: text })}
          read={readPrice(texts[field])}
        />
      ))}
      <CheckField label="Takes images" isChecked={takesImages} onCheck={setTakesImages} />
      <CheckField label="Reasons before it answers" isChecked={reasons} onCheck={setReasons} />
    </DialogForm>
  );
}
