"""Plotly figures and component payloads: arrays or a trace in, a figure out. No torch, no Streamlit."""
