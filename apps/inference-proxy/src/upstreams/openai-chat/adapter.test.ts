import { describeUpstreamAdapter } from '../../../test/conformance.js';
import { describeDamagedReplies } from '../../../test/conformance-damage.js';
import { describeAnyRequest } from '../../../test/conformance-requests.js';
import { openaiChat } from './adapter.js';

const fixtures = new URL('./__fixtures__/', import.meta.url);

describeUpstreamAdapter(openaiChat, fixtures);
describeDamagedReplies(openaiChat, fixtures);
describeAnyRequest(openaiChat);
