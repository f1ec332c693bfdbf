import { EmptyRequest } from './catalog.js';
import { EveryReplicaEndpoint } from './endpoint.js';

/** A replica of a service as it sees itself. One that is dead, cut off from NATS, or still starting does not answer. */
export interface ReplicaStatus {
  service: string;
  /** Host and id of the process. Replicas of two services with the same one share it. */
  process: string;
  version: string;
  /** Commit of the build. Empty where the build knew none. */
  commit: string;
  node: string;
  /** Start of the process. */
  startedAt: string;
  /** Failed checks of its readiness, as `/readyz` lists them. Empty: it is ready. */
  missing: string[];
}

/** Every replica of every service answers. */
export const replicaStatus = new EveryReplicaEndpoint<EmptyRequest, ReplicaStatus>('service.v1.replica.status', EmptyRequest, {
  about: 'Build, start and readiness of a replica of any service',
});
