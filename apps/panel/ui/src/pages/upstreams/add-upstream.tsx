import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  CatalogApplyBody,
  CatalogApplyReply,
  CatalogGetReply,
  CatalogPlanBody,
  CatalogPlanReply,
  UpstreamsReply,
} from '../../../../src/shapes/catalog.js';
import { ApiError, callApi, useApi, withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { Dialog, DialogActions, DialogForm } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { insertUpstream, type NewUpstream } from './insert-upstream.js';
import { RunningTest } from './test-upstream.js';

const KINDS: [NewUpstream['kind'], string][] = [
  ['openai-chat', 'openai-chat: vLLM, Ollama, most hosted services'],
  ['openai-responses', 'openai-responses'],
  ['anthropic-messages', 'anthropic-messages'],
  ['gemini', 'gemini'],
  ['bedrock-converse', 'bedrock-converse'],
];

/** Milliseconds between two looks whether the replicas have the new catalog. */
const LOOK_MS = 1_000;

/** Adds an upstream to the catalog file, then tests it. `catalog`: its current text, which must be stored. */
export function AddUpstream({ catalog, onClose }: { catalog: CatalogGetReply; onClose: () => void }) {
  const client = useQueryClient();
  const [upstream, setUpstream] = useState<NewUpstream>({
    id: '',
    kind: 'openai-chat',
    baseUrl: '',
    apiKeyEnv: '',
    allowPrivateNetwork: false,
  });
  const [model, setModel] = useState('');
  const change = (part: Partial<NewUpstream>) => setUpstream({ ...upstream, ...part });
  const adding = useMutation<CatalogApplyReply>({
    mutationFn: () => addToCatalog(catalog.yaml ?? '', upstream),
    onSuccess: () => client.invalidateQueries(),
  });
  if (adding.data) return <TestAdded {...upstream} model={model} revision={adding.data.revision} onClose={onClose} />;
  return (
    <DialogForm title="Add an upstream" submit="Add and test" change={adding} onClose={onClose}>
      <p>Adds an entry to the catalog file, as a new revision. The next step adds a model that uses it.</p>
      <TextField
        label="Id"
        hint="A name of your choice in the catalog, such as vllm."
        value={upstream.id}
        onText={(id) => change({ id })}
        maxLength={64}
        required
      />
      <SelectField label="Dialect" options={KINDS} value={upstream.kind} onChoose={(kind) => change({ kind })} />
      <TextField
        label="URL"
        hint="Up to the part before /chat/completions, such as https://api.example.com/v1."
        type="url"
        value={upstream.baseUrl}
        onText={(baseUrl) => change({ baseUrl })}
        required
      />
      <SelectField
        label="Network"
        options={[
          ['public', 'Public addresses only'],
          ['private', 'Also loopback and private addresses, as inside a cluster'],
        ]}
        {...(isPrivate(upstream.baseUrl) &&
          !upstream.allowPrivateNetwork && { hint: 'The address of this URL is private: choose the other, or calls are refused.' })}
        value={upstream.allowPrivateNetwork ? 'private' : 'public'}
        onChoose={(network) => change({ allowPrivateNetwork: network === 'private' })}
      />
      <TextField
        label="Variable of the API key"
        hint="Name of an environment variable of the inference-proxy such as UPSTREAM_KEY_OPENAI, never the key itself. Empty: none is sent."
        value={upstream.apiKeyEnv}
        onText={(apiKeyEnv) => change({ apiKeyEnv })}
        pattern="UPSTREAM_KEY_[A-Z0-9_]+"
        placeholder="none"
        spellCheck={false}
      />
      <TextField label="Model to test" hint="A name that the upstream knows." value={model} onText={setModel} maxLength={256} required />
    </DialogForm>
  );
}

/** True for URLs of private and loopback addresses, as far as their text tells. */
function isPrivate(url: string): boolean {
  return /^https?:\/\/(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\])/i.test(url);
}

/** Applies the file with the upstream if that is its only change. Throws `ApiError` with the first fault. */
async function addToCatalog(yaml: string, upstream: NewUpstream): Promise<CatalogApplyReply> {
  const text = insertUpstream(yaml, upstream);
  const plan = await callApi<CatalogPlanReply>('POST', '/catalog/plan', { body: { yaml: text } satisfies CatalogPlanBody });
  const [fault] = plan.faults;
  if (fault) throw new ApiError(`${fault.field}: ${fault.problem}`, 'invalid_request');
  const { upstreams, models, repriced } = plan.changes ?? {};
  const others = [...(upstreams?.changed ?? []), ...(upstreams?.disabled ?? []), ...(repriced ?? [])];
  const isAlone = upstreams?.added.length === 1 && others.length + Object.values(models ?? {}).flat().length === 0;
  if (!isAlone) {
    throw new ApiError(
      'The stored file differs from the catalog in more than this upstream. Apply it on the page Models first.',
      'conflict',
    );
  }
  const body = { yaml: text, fileName: 'panel', expectedRevision: plan.revision } satisfies CatalogApplyBody;
  return callApi<CatalogApplyReply>('POST', '/catalog/apply', { body });
}

interface TestAddedProps {
  id: string;
  model: string;
  revision: number;
  onClose: () => void;
}

/** Tests the upstream once a replica has it. */
function TestAdded({ id, model, revision, onClose }: TestAddedProps) {
  const { linkTo } = useSession();
  const [isKnown, setKnown] = useState(false);
  const { data } = useApi<UpstreamsReply>('/upstreams', { refetchMs: isKnown ? undefined : LOOK_MS });
  if (!isKnown && data?.replicas.some(({ catalogRevision }) => (catalogRevision ?? 0) >= revision)) setKnown(true);
  return (
    <Dialog title={`Test ${id}`} onClose={onClose}>
      <p>
        Revision {revision} of the catalog has {id}. Clients call it by a model that has a route to it.
      </p>
      {isKnown ? <RunningTest upstream={id} model={model} /> : <p role="status">Waiting for the inference-proxy to read it…</p>}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <ButtonLink look="primary" to={withQuery(linkTo('models'), { tab: 'file', upstream: id, model })}>
          Add a model
        </ButtonLink>
      </DialogActions>
    </Dialog>
  );
}
