"""The Forward pass page: what it shows, in Streamlit."""
