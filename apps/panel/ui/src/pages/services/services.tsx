import { useRef } from 'react';
import type { ServicesReply } from '../../../../src/shapes/catalog.js';
import { useApi } from '../../data/api.js';
import { plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Moment } from '../../parts/moment.js';
import { Card, Figure, Figures, Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { missingServices, nameBuild, type ReplicaRow, rememberReplicas } from './replica-rows.js';

const REFETCH_MS = 5_000;
const LIST = new Intl.ListFormat('en');

/** Replicas of all services that answer on NATS, and those that answered since the page was opened. */
export function ServicesPage() {
  const { data, dataUpdatedAt } = useApi<ServicesReply>('/services', { refetchMs: REFETCH_MS });
  const rows = useReplicas(data, dataUpdatedAt);
  const missing = rows && missingServices(rows);
  const answering = rows?.filter(({ goneAt }) => goneAt === null);
  const builds = answering && [...new Set(answering.map(nameBuild))];
  const ready = answering?.filter((row) => row.missing.length === 0).length;
  return (
    <Page
      title="Services"
      about="Every replica that answers on NATS, as it sees itself. One that is still starting, or is cut off from NATS, does not answer."
    >
      <Figures>
        <Figure label="Services" note={missing && (missing.length === 0 ? 'all answer' : `no replica of ${LIST.format(missing)} answers`)}>
          {missing && (missing.length === 0 ? <Badge tone="good">Up</Badge> : <Badge tone="bad">Down</Badge>)}
        </Figure>
        <Figure label="Ready" note={answering && `of ${plural(answering.length, 'replica')}`}>
          {ready}
        </Figure>
        <Figure label="Processes" note="of one service or several">
          {answering && new Set(answering.map(({ process }) => process)).size}
        </Figure>
        <Figure label="Builds" note={builds && (builds.length > 1 ? 'an upgrade is under way, or stuck' : builds[0])}>
          {builds?.length}
        </Figure>
      </Figures>
      <Card flush title="Replicas" note="by service">
        <Table<ReplicaRow>
          caption="Replicas of all services"
          rows={rows}
          rowKey={({ service, process }) => `${service} ${process}`}
          isMuted={({ goneAt }) => goneAt !== null}
          columns={[
            { head: 'Service', cell: ({ service, process }) => <TwoLines main={service} more={process} narrow /> },
            { head: 'State', cell: (row) => <State row={row} /> },
            { head: 'Version', cell: (row) => <Build row={row} /> },
            { head: 'Started', isTime: true, wide: true, cell: ({ startedAt }) => <Moment at={startedAt} /> },
            {
              head: 'Process',
              grow: true,
              wrap: true,
              wide: true,
              cell: ({ process, sharedWith }) =>
                sharedWith.length === 0 ? process : <TwoLines main={process} more={`also runs ${LIST.format(sharedWith)}`} />,
            },
          ]}
        />
      </Card>
    </Page>
  );
}

/** Merges each answer into what the page has seen. Undefined before the first. */
function useReplicas(data: ServicesReply | undefined, answeredAt: number): ReplicaRow[] | undefined {
  const seen = useRef<{ answeredAt: number; rows: ReplicaRow[] }>(undefined);
  if (data && seen.current?.answeredAt !== answeredAt) {
    seen.current = { answeredAt, rows: rememberReplicas(seen.current?.rows ?? [], data.replicas, answeredAt) };
  }
  return seen.current?.rows;
}

function State({ row: { goneAt, missing } }: { row: ReplicaRow }) {
  if (goneAt !== null) {
    const since = <Moment at={new Date(goneAt).toISOString()} format="time" named />;
    return <TwoLines main={<Badge tone="bad">Gone</Badge>} more={<>no answer since {since}</>} />;
  }
  if (missing.length === 0) return <Badge tone="good">Ready</Badge>;
  return <TwoLines main={<Badge tone="warn">Not ready</Badge>} more={missing.join(', ')} />;
}

function Build({ row }: { row: ReplicaRow }) {
  const build = nameBuild(row);
  return row.isOtherBuild ? <TwoLines main={build} more={<Badge tone="warn">Not the latest started</Badge>} /> : build;
}
