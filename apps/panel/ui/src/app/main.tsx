import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { isTransient } from '../data/api.js';
import { copyExactValues } from '../parts/exact-copy.js';
import { App } from './app.js';
import './base.css';
import { applyScheme } from './scheme.js';
import './tokens.css';
import '../parts/chart/series.css';

applyScheme();
document.addEventListener('copy', copyExactValues);

/** Milliseconds between two attempts while the panel, or a service behind it, does not answer. */
const RETRY_MS = 2_000;

const client = new QueryClient({
  defaultOptions: {
    // A panel on this machine answers without a network.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 15_000,
      refetchOnWindowFocus: true,
      retry: (_count, error) => isTransient(error),
      retryDelay: RETRY_MS,
    },
  },
});

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Router base={import.meta.env.BASE_URL.replace(/\/$/, '')}>
        <App />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
