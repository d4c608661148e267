"""What the pages share in Streamlit: set-up, the address, the cached engine, controls and components."""
