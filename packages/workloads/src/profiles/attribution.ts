/** What the licence of the measured Azure traces asks to be named. */
export const azureAttribution =
  "measured from the Azure LLM inference traces 2023 (CC BY 4.0; P. Patel et al., Splitwise, ISCA 2024)";
