import { describeUpstreamAdapter } from '../../../test/conformance.js';
import { describeDamagedReplies } from '../../../test/conformance-damage.js';
import { describeAnyRequest } from '../../../test/conformance-requests.js';
import { anthropicMessages } from './adapter.js';

const fixtures = new URL('./__fixtures__/', import.meta.url);

describeUpstreamAdapter(anthropicMessages, fixtures);
describeDamagedReplies(anthropicMessages, fixtures);
describeAnyRequest(anthropicMessages);
