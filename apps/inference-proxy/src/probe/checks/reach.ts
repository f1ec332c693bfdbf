import type { Upstream } from '#contracts/catalog.js';
import type { ListedModel } from '../list-models.js';
import { describeFailure, type Finding, type ProbeFailure, type ProbeResult } from '../probe-result.js';
import { inMs, no, unclear, yes } from './check.js';

type Place = Pick<Upstream, 'baseUrl' | 'allowPrivateNetwork' | 'apiKeyEnv' | 'apiKeyFile' | 'auth' | 'timeouts'>;

/** Judges name resolution, connection and TLS. A reply with any status counts as reached. */
export function judgeReach({ failure, totalMs }: ProbeResult, place: Place): Finding {
  const { host, hostname, protocol } = new URL(place.baseUrl);
  if (failure === undefined) return yes(`${host} answers, ${inMs(totalMs)} for a reply`);
  const { kind, status, errorCode = '', connectionFault, text } = failure;
  if (kind === 'credential') return unclear('not asked, because there is no credential');
  if (status !== undefined) return yes(`${host} answers, with ${status}`);
  if (errorCode === 'ADDRESS_REFUSED') return no(place.allowPrivateNetwork ? `${hostname} may never be called` : refusedAddress(hostname));
  if (errorCode === 'ENOTFOUND' || errorCode === 'EAI_AGAIN') return no(`no name server knows ${hostname}: check baseUrl`);
  if (errorCode === 'ECONNREFUSED') return no(`nothing listens at ${host}: is it running, and is the port right?`);
  if (connectionFault !== undefined) return no(connectionFault);
  if (errorCode === 'HPE')
    return no(`${host} does not speak HTTP. Is the URL ${protocol === 'http:' ? 'https://, not http://' : 'on another port'}?`);
  if (kind === 'unreachable') return no(`no connection to ${host} within ${inMs(place.timeouts.connectMs)} (${errorCode || 'unknown'})`);
  if (kind === 'timeout' || kind === 'slow')
    return no(`${host} accepted the request and did not reply: ${text}. If it loads the model first, try again`);
  return yes(`${host} answers: ${text}`);
}

function refusedAddress(hostname: string): string {
  return `${hostname} is not a public address: if it is yours, say allowPrivateNetwork: true`;
}

/** Judges whether the upstream accepts the key, or requires one. */
export function judgeKey(failure: ProbeFailure | undefined, { apiKeyEnv, apiKeyFile, auth }: Place): Finding {
  const source = auth != null ? `auth (${auth.kind})` : apiKeyFile ? `the file ${apiKeyFile}` : apiKeyEnv;
  if (failure?.status === 401 || failure?.status === 403) {
    if (source === null) return no(`${failure.status}: it requires a key. Name the variable that holds it in apiKeyEnv, or set auth`);
    const more = failure.status === 403 ? ', and what it is allowed to do' : '';
    return no(`${failure.status}: check ${source}, as the inference-proxy has it${more}`);
  }
  if (failure?.status === 402) return no('402: the account there has no credit');
  if (failure !== undefined && failure.status === undefined) return unclear('not reached');
  return yes(source === null ? 'none is needed' : `${source} is taken`);
}

const NAMES_MAX = 6;

/** Judges whether the upstream has the model. Its list decides only when the name is refused, because lists omit aliases. */
export function judgeModel(result: ProbeResult, model: string, listed: readonly ListedModel[] | undefined): Finding {
  const { failure } = result;
  const isListed = listed?.some(({ id }) => id === model);
  if (failure === undefined)
    return yes(isListed === false ? 'answers, though it is not on its list' : isListed ? 'on its list' : 'answers');
  if (failure.status === 404 && isListed !== true) {
    if (listed === undefined)
      return no('404: no such model, or no such path: baseUrl ends before /chat/completions, /responses, /messages or /models');
    return no(`404: there is no ${model}; ${listNames(listed)}`);
  }
  if (isListed === false) return no(`not on its list; ${listNames(listed ?? [])}`);
  return isListed ? yes('on its list') : unclear(describeFailure(failure));
}

/** Repeats only names that look like model names: the list is the upstream's text. */
function listNames(listed: readonly ListedModel[]): string {
  const names = listed.map(({ id }) => id).filter((id) => /^[\w.:/@-]{1,64}$/.test(id));
  if (names.length === 0) return 'its list is empty';
  const more = names.length - NAMES_MAX;
  return `it lists ${names.slice(0, NAMES_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function judgePlain(result: ProbeResult): Finding {
  const { failure, text, reasoning, finishReason, totalMs } = result;
  if (failure !== undefined) return no(whyNot(failure));
  if (text !== '') return yes(`${Buffer.byteLength(text)} bytes of text in ${inMs(totalMs)}, finish ${finishReason}`);
  if (reasoning !== '') return yes('answers; all it could write was reasoning');
  return no(`no text, finish ${finishReason}`);
}

function whyNot(failure: ProbeFailure): string {
  if (failure.kind === 'broken' && failure.status === undefined) {
    return `${failure.text}: not a reply of this kind of upstream; check baseUrl and kind`;
  }
  return describeFailure(failure);
}
