import type { ReactNode } from 'react';

const PATHS = {
  inbox: 'M3 10h3l1.2 2h1.6L10 10h3M3 10l1.6-6h6.8L13 10v3H3z',
  trace: 'M3 4h6M5 8h6M8 12h5',
  agent: 'M4 6.5h8v6H4zM8 4v2.5M6.5 9h0M9.5 9h0',
  map: 'M4 4a1.5 1.5 0 1 0 0 .1M12 8a1.5 1.5 0 1 0 0 .1M4.5 12a1.5 1.5 0 1 0 0 .1M5.3 4.8l4 2.6M5.7 11.2l3.8-2.6',
  usage: 'M3 13h10M4.5 13V9M8 13V3.500M11.500 13V6.500',
  provider: 'M3 4h10v3.5H3zM3 8.5h10V12H3zM5 5.8h0M5 10.3h0',
  manifest: 'M4.5 2.5h5l2.5 2.5v8.5h-7.500zM6.500 7.500h3.500M6.500 10h3.500',
  gateway: 'M3 13V6.500a5 5 0 0 1 10 0V13M6.500 13V8a1.500 1.500 0 0 1 3 0v5',
  change: 'M3 5h5M5.500 2.500v5M9 11.500h5M12.500 3L4 13',
  task: 'M3.500 8l3 3 6-6.500',
  person: 'M8 8a2.700 2.700 0 1 0-.1 0M3 13.500a5 4 0 0 1 10 0',
  key: 'M6 10.500a2.500 2.500 0 1 0-.1 0M7.800 7.200L13 2.500M11 4.500l1.500 1.500',
  audit: 'M4 3h8v10H4zM6 6h4M6 8.500h4M6 11h2',
  tenant: 'M3 13V5l5-2.500L13 5v8M3 13h10M6.500 13v-3h3v3M6.500 7h0M9.500 7h0',
  search: 'M7 11.500a4.500 4.500 0 1 0-.1 0M10.300 10.300L13.500 13.500',
  copy: 'M5.500 5.500h7v7h-7zM3.500 10.500v-7h7',
  check: 'M3.500 8.500l3 3 6-7',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  more: 'M4 8h0M8 8h0M12 8h0',
  sun: 'M8 5.200a2.800 2.800 0 1 0 .1 0M8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M12.600 3.400l-1 1M4.400 11.600l-1 1',
  moon: 'M13 9.500A5.500 5.500 0 0 1 6.500 3a5.500 5.500 0 1 0 6.500 6.500z',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3.500l4.500 4.500L6 12.500',
  down: 'M3.500 6L8 10.500 12.500 6',
  up: 'M3.500 10L8 5.500 12.500 10',
  warning: 'M8 2.500l6 11H2zM8 6.500v3.500M8 11.800h0',
  help: 'M8 14a6 6 0 1 0-.1 0M6.300 6.300a1.800 1.800 0 1 1 2.500 1.700c-.5.200-.8.500-.8 1.200M8 11.300h0',
  refresh: 'M12.500 6A5 5 0 1 0 13 9M12.800 3v3.200H9.600',
  plus: 'M8 3v10M3 8h10',
} as const;

export type IconName = keyof typeof PATHS;

/** A line drawing beside a text that says the same: screen readers skip it. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
