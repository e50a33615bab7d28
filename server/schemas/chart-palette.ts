/**
 * Each color has a contrast of at least 3:1 with the surface (WCAG 1.4.11), and can be told from all others with normal
 * vision, protanopia and deuteranopia; `dashboard/charts/colors.test.ts` checks both.
 * `dashboard/styles.css` has the same ones for the marks of channels.
 */
export const palettes = {
  light: {
    surface: "#fdfcfa",
    series: ["#0a6b7c", "#b465bd", "#558d12", "#448dfa", "#8f4100", "#624dba", "#790647", "#033884"],
    rest: "#958e82",
  },
  dark: {
    surface: "#1a1917",
    series: ["#5cc4d3", "#c16cb3", "#9aa024", "#7192f7", "#ebc34b", "#6d57b4", "#f9918e", "#7ef4b4"],
    rest: "#7a746a",
  },
};
