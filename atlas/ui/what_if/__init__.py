"""The parts of the What if page, in Streamlit."""
