import { parseRequest } from './request.js';

/** The format of `POST /v1/embeddings`, for the parsers of bodies. Its errors are those of Chat Completions. */
export const EMBEDDINGS = { name: 'embeddings', parseRequest } as const;
