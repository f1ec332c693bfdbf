import { join } from 'node:path';
import { describeUpstreamAdapter } from '../../../test/conformance.js';
import { describeDamagedReplies } from '../../../test/conformance-damage.js';
import { describeAnyRequest } from '../../../test/conformance-requests.js';
import { bedrockConverse } from './adapter.js';

const fixtures = join(import.meta.dirname, '__fixtures__');

describeUpstreamAdapter(bedrockConverse, fixtures);
describeDamagedReplies(bedrockConverse, fixtures);
describeAnyRequest(bedrockConverse);
