import { describeUpstreamAdapter } from '../conformance.js';
import { describeDamagedReplies } from '../conformance-damage.js';
import { describeAnyRequest } from '../conformance-requests.js';
import { openaiChat } from './adapter.js';

const fixtures = new URL('./__fixtures__/', import.meta.url);

describeUpstreamAdapter(openaiChat, fixtures);
describeDamagedReplies(openaiChat, fixtures);
describeAnyRequest(openaiChat);
