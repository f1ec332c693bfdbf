import { describeUpstreamAdapter } from '../conformance.js';
import { describeDamagedReplies } from '../conformance-damage.js';
import { describeAnyRequest } from '../conformance-requests.js';
import { anthropicMessages } from './adapter.js';

const fixtures = new URL('./__fixtures__/', import.meta.url);

describeUpstreamAdapter(anthropicMessages, fixtures);
describeDamagedReplies(anthropicMessages, fixtures);
describeAnyRequest(anthropicMessages);
