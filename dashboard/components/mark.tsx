/** The logo's bird, in the color of the surrounding text. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="3 6 26 20" className={className} aria-hidden="true" role="presentation">
      <path
        d="M5 24.5 13.2 13a6.6 6.6 0 0 1 11.5-1.6l3.3 1.7-3.2 1.5c0 5.9-4.3 9.9-10.2 9.9z"
        fill="currentColor"
      />
      <path
        d="M10.6 24.5c4.6 0 7.4-2.9 7.9-7.3"
        fill="none"
        stroke="var(--canvas)"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <circle cx="20.3" cy="12.4" r="1.3" fill="var(--canvas)" />
    </svg>
  );
}
