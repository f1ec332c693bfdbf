/** `npm run build`: the Prisma client and `dist`, when they are not up to date. Needs installed packages only. */
import { ensureBuilt } from './local/build.mjs';
import { createStatus } from './local/status.mjs';

await ensureBuilt(createStatus());
